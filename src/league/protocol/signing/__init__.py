"""Proof of who said something: tokens in requests, and Ed25519 signatures of choices and rounds that anybody can check.

Roles sign and check with it, and so do audits and the kit. It keeps no key and no token.
"""
