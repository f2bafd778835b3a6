"""The border to agents by others: how they are spoken to, and what they say in the words of the documents. Pure."""
