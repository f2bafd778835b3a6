"""What a league's results tell, and what is luck: `observations` (which results count), `points` and `rating` (the two
measures a game may declare), `draws` (the numbers of each referee), `analysis` (all of it), `words` (every number in a
sentence).
"""
