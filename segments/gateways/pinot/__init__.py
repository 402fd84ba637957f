"""HTTP to a real Apache Pinot: its controller, and SQL through the controller or a broker."""

from segments.gateways.pinot.broker import PinotBroker, PinotSqlBroker, SqlBroker
from segments.gateways.pinot.circuit import Circuit
from segments.gateways.pinot.connection import Connection, Credentials, Tls
from segments.gateways.pinot.controller import PinotController, PinotReply
from segments.gateways.pinot.http_controller import HttpPinotController
from segments.gateways.pinot.refusals import ControllerFault, PinotRefused

__all__ = [
    "Circuit",
    "Connection",
    "ControllerFault",
    "Credentials",
    "HttpPinotController",
    "PinotBroker",
    "PinotController",
    "PinotRefused",
    "PinotReply",
    "PinotSqlBroker",
    "SqlBroker",
    "Tls",
]
