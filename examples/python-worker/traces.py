"""Continues a job's trace: W3C trace context in, a new span, W3C trace context out.

Ids alone need no library. If opentelemetry-sdk and an OTLP exporter are installed and
OTEL_EXPORTER_OTLP_ENDPOINT is set, the span is also recorded and exported:

    pip install opentelemetry-sdk opentelemetry-exporter-otlp

Spans contain neither arguments nor results of a call.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import contextmanager
from typing import Any, Iterator

try:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    trace = None

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
exporting = False


def start() -> None:
    """Enables the export of spans if the environment configures it.

    Call it once. OTEL_SERVICE_NAME names the service.
    """
    global exporting
    if trace is not None and os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        provider = TracerProvider()
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
        exporting = True


def stop() -> None:
    """Exports the remaining spans."""
    if exporting:
        trace.get_tracer_provider().shutdown()


class Span:
    """The span of a call: the trace context for the result, and the outcome of the call."""

    def __init__(self, traceparent: str | None, recorded: Any = None):
        self.traceparent, self.recorded = traceparent, recorded

    def fail(self, kind: str) -> None:
        if self.recorded is not None:
            self.recorded.set_attribute("error.type", kind)
            self.recorded.set_status(trace.StatusCode.ERROR, kind)


@contextmanager
def tool_call(headers: dict[str, str], job: str, command: dict[str, Any]) -> Iterator[Span]:
    """Opens a span below the span that published the command."""
    if not exporting:
        yield Span(child(headers.get("traceparent")))
        return
    propagator = TraceContextTextMapPropagator()
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": command["tool"],
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": command["work"],
        "callboard.job.id": job,
        "callboard.step.id": command["step"],
        "callboard.work": command["work"],
        "callboard.attempt": command["attempt"],
    }
    tracer = trace.get_tracer("callboard.python")
    with tracer.start_as_current_span(f"execute_tool {command['tool']}", attributes=attributes,
                                      context=propagator.extract(headers)) as recorded:
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        yield Span(carrier.get("traceparent"), recorded)


def child(traceparent: str | None) -> str | None:
    """Returns a context of the same trace and sampling decision with a new span id."""
    found = TRACEPARENT.fullmatch(traceparent or "")
    if not found:
        return None
    return f"00-{found[1]}-{secrets.token_hex(8)}-{found[3]}"
