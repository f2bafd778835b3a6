"""The options of all roles: `league.toml`, which may hold any of them, and the list for the reference."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from league.hosting.settings import removed_options
from league.hosting.settings.manager_options import ManagerOptions
from league.hosting.settings.options import Option, RoleOptions, checked_value, options_of
from league.hosting.settings.player_options import PlayerOptions
from league.hosting.settings.referee_options import RefereeOptions
from league.terminal import USAGE, CommandError, did_you_mean

ROLES: tuple[type[RoleOptions], ...] = (ManagerOptions, RefereeOptions, PlayerOptions)
ALL = tuple(cls.role for cls in ROLES)


def all_options() -> list[Option]:
    """Every option once, with all roles that share it; for the reference."""
    merged: list[Option] = []
    for role in ROLES:
        for row in options_of(role):
            # Two roles share a row of the reference if nothing but the role differs.
            twin = next((other for other in merged if structs.replace(other, roles=row.roles) == row), None)
            if twin is None:
                merged.append(row)
            else:
                merged[merged.index(twin)] = structs.replace(twin, roles=(*twin.roles, *row.roles))
    return merged


# --- league.toml ------------------------------------------------------------------------------------------------------


def read(name: str, role: type[RoleOptions]) -> Mapping[str, Any]:
    """The settings of a file that are for this role.

    Roles share a file. A key at its top is for every role that has it, a role's own table is for that role alone. The
    whole file is checked, no matter which role reads it. (`manager` is a table if it is one, otherwise the option.)
    """
    stored = _stored(name)
    tables = {key: value for key, value in stored.items() if key in ALL and isinstance(value, dict)}
    top = {key: value for key, value in stored.items() if key not in tables}
    # A key at the top may belong to any role, and must fit each role that has it.
    everything = [row for cls in ROLES for row in options_of(cls)]
    settings = _checked(top, everything, name, role)
    for cls in ROLES:
        table = _checked(tables.get(cls.role, {}), tuple(options_of(cls)), f"{name}, [{cls.role}]", cls)
        if cls is role:
            settings |= table
    return settings


def _checked(table: Mapping[str, Any], rows: Sequence[Option], where: str, role: type[RoleOptions]) -> dict[str, Any]:
    """The settings of a table that are for this role. A mistake in the table is refused, whichever role it is for."""
    settings: dict[str, Any] = {}
    for key, value in table.items():
        fitting = [row for row in rows if row.name == key]
        if key in removed_options.REMOVED:
            raise CommandError(f"{key} in {where} is gone: {removed_options.REMOVED[key]}", USAGE)
        if not fitting:
            raise _unknown(where, key, {row.name for row in rows})
        for row in fitting:
            checked = checked_value(row, value, f"{key} in {where}", row.kind.types)
            if role.role in row.roles:
                settings[key] = checked
    return settings


def _unknown(where: str, key: str, names: Iterable[str]) -> CommandError:
    suggestion = did_you_mean(key, names) or f"; there are {', '.join(sorted(names))}"
    return CommandError(f"{where}: there is no setting {key!r}{suggestion}", USAGE)


def _stored(name: str) -> Mapping[str, Any]:
    """The content of league.toml."""
    try:
        return tomllib.loads(Path(name).read_text("utf-8"))
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror}", USAGE) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} is not TOML: {error}", USAGE) from error
