"""The options of the roles: from the command line, the environment, `league.toml`, or their defaults.

Commands and the SDK read options here and hand them on as values. It opens no port and no journal.
"""
