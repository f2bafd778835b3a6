"""Reports for people, made from journals: `explain` (why a match ended as it did), `sparring` (friendly matches),
`exports` and `live_files` (the shared files), `views` (pages and tables), `success` (metrics),
`statistics` (what results prove).
"""
