"""UpdateFeatures (57), v0-2.

Levels of features follow from settings and the release, so what asks for the present level succeeds and a change is refused; checks and
texts are those of `FeatureControlManager`. One bad update fails all (95). v1: `upgrade_type`, `validate_only`. v2: no result a feature.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.broker.settings.features import METADATA_VERSION, Feature, features
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


@api(ApiKey.UPDATE_FEATURES, 0, 2)
def handle(req: messages.UpdateFeaturesRequest, ctx: RequestContext) -> messages.UpdateFeaturesResponse:
    """Check every update; make none."""
    if not may(ctx, AclOperation.ALTER):
        return _response(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_REFUSED)
    config = ctx.broker.config
    known = {
        feature.name: feature
        for feature in features(
            transaction_version=config.txn.transaction_version,
            group_version=int(config.group.group_consumer_enabled),
            share_version=int(config.share_group.enabled),
            streams_version=int(config.group.group_streams_enabled),
        )
    }
    try:
        for update in req.feature_updates:
            _check(update, known.get(update.feature), ctx, validate_only=req.validate_only)
    except KafkaError as error:
        return _response(error.code, f"The update failed for all features since the following feature had an error: {error.message}")
    result = messages.UpdateFeaturesResponse.UpdatableFeatureResult
    results = [result(feature=update.feature, error_code=0, error_message="NONE") for update in req.feature_updates]
    return messages.UpdateFeaturesResponse(error_code=0, error_message=None, results=results)


def _check(
    update: messages.UpdateFeaturesRequest.FeatureUpdateKey, feature: Feature | None, ctx: RequestContext, *, validate_only: bool
) -> None:
    """Raises KafkaError(INVALID_UPDATE_VERSION)."""
    level = update.max_version_level
    start = f"Invalid update version {level} for feature {update.feature}."
    if level < 0:
        raise _invalid(f"{start} A feature version cannot be less than 0.")
    if feature is None:
        raise _invalid(f"{start} Local controller {ctx.broker.node_id} does not support this feature.")
    if not feature.min_version <= level <= feature.max_version:
        supported = f"{feature.min_version}-{feature.max_version}"
        raise _invalid(f"{start} Local controller {ctx.broker.node_id} only supports versions {supported}")
    may_downgrade = update.allow_downgrade if ctx.api_version == 0 else update.upgrade_type in (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)
    if level < feature.level and not may_downgrade:
        raise _invalid(
            f"{start} Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
        )
    if level > feature.level and may_downgrade:
        raise _invalid(f"{start} Can't downgrade to a newer version.")
    if level < feature.level and feature.name == METADATA_VERSION:
        raise _invalid(f"Unsupported {METADATA_VERSION} downgrade from {feature.level} to {level}.")
    if level != feature.level and not validate_only:
        raise _invalid(f"{start} The level of a feature follows from the broker's settings, it is {feature.level}.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_UPDATE_VERSION, message)


def _response(error: ErrorCode, message: str) -> messages.UpdateFeaturesResponse:
    return messages.UpdateFeaturesResponse(error_code=error, error_message=message, results=[])
