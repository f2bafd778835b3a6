"""The dashboard: a league as pages for people. A view is computed from a manager, a renderer turns it into HTML, and
who serves or exports the pages is somebody else's business."""
