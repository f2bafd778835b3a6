"""The code of a player's author: how it is loaded, checked and run, and how its author hears of its mistakes.

Whatever runs players uses it. Only here is foreign code called, and only here are its exceptions caught.
"""
