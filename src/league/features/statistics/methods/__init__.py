"""Statistical methods: models, tests and intervals, as functions of numbers.

The statistics of leagues, tournaments and comparisons use them. They know no league, no journal and no words.
"""
