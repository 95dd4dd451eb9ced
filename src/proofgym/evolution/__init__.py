"""Evolution Strategies in exact integer arithmetic: noise, history, replay (docs/noise.md)."""
