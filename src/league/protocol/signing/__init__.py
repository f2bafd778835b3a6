"""Signatures that anybody can check: Ed25519 over JSON in one spelling. Players sign choices, managers sign rounds."""
