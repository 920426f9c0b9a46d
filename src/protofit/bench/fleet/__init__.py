"""Many training runs stacked in one batched model: small encoders leave a large GPU idle."""

from protofit.bench.fleet.engine import FleetEngine as FleetEngine
