"""What the kit does with an agent: scripts that send messages and wait for answers.

They look at an answer only to decide what to send next. The runner runs those that the chosen checks need.
"""
