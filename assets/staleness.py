"""What is stale, as Dagster's user interface marks it."""

from typing import Any

import dagster as dg
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContext


class _Looking(LoadingContext):
    """A look at one instance."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance
        self._loaders: dict[type, Any] = {}

    @property
    def instance(self) -> dg.DagsterInstance:
        return self._instance

    @property
    def loaders(self) -> dict[type, Any]:
        return self._loaders


def stale_assets(instance: dg.DagsterInstance, definitions: dg.Definitions) -> dict[str, tuple[str, ...]]:
    """The stale assets, each with the assets whose data or code are others than those that it was made from."""
    graph = definitions.resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, loading_context=_Looking(instance))
    return {
        key.to_user_string(): tuple(
            sorted({cause.asset_key.to_user_string() for cause in resolver.get_stale_root_causes(key)})
        )
        for key in graph.toposorted_asset_keys
        if resolver.get_status(key) is StaleStatus.STALE
    }
