"""Typed client of pinotadmin's REST API: ``Client(url, token=...)``."""

from pinotadmin_client.client import Client
from pinotadmin_client.errors import (
    ApiError,
    ClientError,
    Conflict,
    Invalid,
    NoAnswer,
    NotAllowed,
    NotFound,
    NotSignedIn,
    ServerFault,
    TimedOut,
    TooMany,
    UnexpectedAnswer,
)

__all__ = [
    "ApiError",
    "Client",
    "ClientError",
    "Conflict",
    "Invalid",
    "NoAnswer",
    "NotAllowed",
    "NotFound",
    "NotSignedIn",
    "ServerFault",
    "TimedOut",
    "TooMany",
    "UnexpectedAnswer",
]
