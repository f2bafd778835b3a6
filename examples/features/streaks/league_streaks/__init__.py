"""The longest winning streak of every player: a command, a page, an MCP tool and a section of the league page."""

from league.rows import CommandRow, Feature, SectionRow, ViewRow

FEATURE = Feature(
    name="streaks",
    about="The longest winning streak of every player.",
    page="README.md",
    rows=(
        CommandRow("streaks", "Watch and understand", "league_streaks.streaks"),
        ViewRow(
            name="streaks",
            title="Streaks",
            about="The longest winning streak of every player.",
            observe="league_streaks.streaks:winners",
            work_out="league_streaks.streaks:longest",
            document="league_streaks.streaks:document",
        ),
        SectionRow("streaks", "league_streaks.streaks:section", "league_streaks"),
    ),
)
