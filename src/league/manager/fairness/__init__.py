"""Why a result can be believed: shares in draws, proofs, signed rounds, and patience before a loss.

Referees ask it while they play, `season` when a round ends. No part of it changes a result or a point.
"""
