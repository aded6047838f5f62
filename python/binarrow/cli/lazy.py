"""Commands that are imported when they are used, because one call needs only one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer

from binarrow.cli.command import Group, add_commands


class Commands(Mapping[str, Any]):
    """The commands of a group by name."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        """Imports nothing yet.

        Args:
            modules: The module of each command. A module with `app` is a group of commands.
        """
        self._modules = modules
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _built(name, self._modules[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


def lazy_group(modules: Mapping[str, str]) -> type[Group]:
    """Returns the class of a group with these commands.

    Args:
        modules: As in `Commands`.
    """

    class LazyGroup(Group):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**{**settings, "commands": Commands(modules)})

    return LazyGroup


def _built(name: str, path: str) -> Any:
    module = import_module(path)
    holder = typer.Typer(
        add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    if hasattr(module, "app"):
        holder.add_typer(module.app, name=name)
    else:
        add_commands(holder, {name: module})
    return typer.main.get_group(holder).commands[name]


__all__ = ["Commands", "lazy_group"]
