"""``manage.py cluster add|change|list|check|remove``: the Pinot clusters that this installation drives."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from segments import wiring
from segments.errors import PinotAdminError
from segments.management.running_installation import add_data_dir, use_installation
from segments.models import Cluster
from segments.request_ids import request_of_its_own
from segments.services.clusters import clusters
from segments.services.clusters.clusters import ClusterCheck, ClusterSpec
from segments.services.core.context import Actor

_MARKS = {True: "ok     ", False: "WRONG  ", None: "note   "}


class Command(BaseCommand):
    """Exit status 1 when it was refused, or when ``check`` found something wrong."""

    help = "Adds, changes, lists, checks and removes the Pinot clusters that this installation drives."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """``cluster add NAME --kind pinot --controller URL`` and the others."""
        actions = parser.add_subparsers(dest="action", required=True)
        for action, text in (
            ("add", "drive another Pinot cluster"),
            ("change", "change how one is reached; give what changes"),
        ):
            _add_connection(_named(actions, action, text), is_new=action == "add")
        shown = add_data_dir(actions.add_parser("list", help="all clusters with their state"))
        shown.add_argument("--json", action="store_true", help="as JSON")
        checked = _named(actions, "check", "ask one now: addresses, credentials, version, ZooKeeper")
        checked.add_argument("--json", action="store_true", help="as JSON")
        removed = _named(actions, "remove", "forget one here; Pinot itself is not touched")
        removed.add_argument("--reason", default="", help="goes into the audit record")
        removed.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, in this process: the running ``up`` notices within seconds."""
        use_installation(options["data_dir"])
        actor = Actor(getpass.getuser(), options.get("reason") or "")
        try:
            with request_of_its_own():
                getattr(self, f"_{options['action']}")(options, actor)
        except PinotAdminError as error:
            raise CommandError(str(error)) from error
        finally:
            wiring.close()

    def _add(self, options: dict[str, Any], actor: Actor) -> None:
        spec = _spec(options, options["name"], None)
        clusters.add_cluster(spec, actor)
        self.stdout.write(f"Added cluster {spec.name}.")
        self._say(clusters.check_cluster(spec.name))

    def _change(self, options: dict[str, Any], actor: Actor) -> None:
        row = Cluster.objects.filter(name=options["name"]).first()
        spec = _spec(options, options["name"], row)
        clusters.change_cluster(spec, actor)
        self.stdout.write(f"Changed cluster {spec.name}.")
        self._say(clusters.check_cluster(spec.name))

    def _list(self, options: dict[str, Any], actor: Actor) -> None:
        rows = clusters.list_clusters()
        if options["json"]:
            self.stdout.write(json.dumps([_document(row) for row in rows], indent=2))
            return
        for row in rows:
            self.stdout.write(_line(row))

    def _check(self, options: dict[str, Any], actor: Actor) -> None:
        found = clusters.check_cluster(options["name"])
        if options["json"]:
            self.stdout.write(json.dumps(found.to_json(), indent=2))
        else:
            self._say(found)
        if not found.is_ok:
            sys.exit(1)

    def _remove(self, options: dict[str, Any], actor: Actor) -> None:
        name = options["name"]
        if not options["yes"]:
            if not sys.stdin.isatty():
                raise CommandError("Nothing was removed: say --yes.")
            if input(f"Forget cluster {name} here (Pinot is not touched)? Type its name: ").strip() != name:
                raise CommandError("Nothing was removed.")
        clusters.remove_cluster(name, actor)
        self.stdout.write(f"Removed cluster {name} here. Pinot itself was not touched.")

    def _say(self, found: ClusterCheck) -> None:
        for step in found.steps:
            self.stdout.write(
                f"  {_MARKS[step.ok]}{step.name}: {step.message}" + (f" {step.remedy}" if step.remedy else "")
            )


def _named(actions: Any, action: str, text: str) -> argparse.ArgumentParser:
    parser = add_data_dir(actions.add_parser(action, help=text))
    parser.add_argument("name", help="of the cluster, as in addresses")
    return parser


def _add_connection(parser: argparse.ArgumentParser, *, is_new: bool) -> None:
    if is_new:
        parser.add_argument("--kind", choices=["pinot"], default="pinot", help="only Pinot clusters are added")
    parser.add_argument(
        "--controller", action="append", required=is_new, metavar="URL", help="repeat for several, tried in turn"
    )
    parser.add_argument("--broker", metavar="URL", help="queries go there (default: through the controller)")
    parser.add_argument(
        "--zookeeper", metavar="ADDR", help="[tls://]host:port,host:port[/path]; read only (default: over REST)"
    )
    parser.add_argument(
        "--zookeeper-cluster", metavar="NAME", help="below ZooKeeper's root (default: as the controller says)"
    )
    parser.add_argument(
        "--zookeeper-user",
        metavar="USER",
        help="of a digest login, or sasl:USER (DIGEST-MD5); prompts for its password unless the next two name it",
    )
    parser.add_argument("--zookeeper-secret-env", metavar="NAME", help="environment variable that holds the password")
    parser.add_argument("--zookeeper-secret-file", metavar="PATH", help="file that holds the password")
    parser.add_argument("--deep-store", metavar="URL", help="where pushes put segments (default: each is uploaded)")
    parser.add_argument(
        "--auth",
        metavar="basic:USER|bearer|none",
        help="you are prompted for the secret unless the next two name it",
    )
    parser.add_argument(
        "--secret-env", metavar="NAME", help="environment variable of web, worker and mirror that holds the secret"
    )
    parser.add_argument(
        "--secret-file", metavar="PATH", help="file that holds the secret, readable by web, worker and mirror"
    )
    parser.add_argument("--tls-ca", metavar="FILE", help="certificate authorities, PEM")
    parser.add_argument("--tls-cert", metavar="FILE", help="our certificate, PEM")
    parser.add_argument("--tls-key", metavar="FILE", help="its key, if it is not in the same file")
    parser.add_argument("--insecure", action="store_true", default=None, help="do not check certificates")
    parser.add_argument("--reason", default="", help="goes into the audit record")


def _spec(options: dict[str, Any], name: str, row: Cluster | None) -> ClusterSpec:
    """What was given; the rest as in the row that is changed."""

    def value(option: str, column: str) -> Any:
        given = options[option]
        return given if given is not None else (getattr(row, column) if row is not None else "")

    kind, user = _auth(options["auth"], row)
    source, zookeeper_user = _source(options, "secret"), value("zookeeper_user", "zookeeper_user")
    zookeeper_source = _source(options, "zookeeper_secret")
    asks_zookeeper = bool(zookeeper_user) and not zookeeper_source and options["zookeeper_user"] is not None
    asks = bool(kind) and not source and (row is None or options["auth"] is not None)
    secret = _ask_secret("Password: " if kind == "basic" else "Token: ") if asks else ""
    return ClusterSpec(
        name=name,
        controller_urls=tuple(value("controller", "controller_urls")),
        broker_url=value("broker", "broker_url"),
        zookeeper=value("zookeeper", "zookeeper"),
        zookeeper_cluster=value("zookeeper_cluster", "zookeeper_cluster"),
        zookeeper_user=zookeeper_user,
        zookeeper_secret=_ask_secret("Password for ZooKeeper: ") if asks_zookeeper else "",
        zookeeper_secret_source=zookeeper_source if zookeeper_user else "",
        deep_store_url=value("deep_store", "deep_store_url"),
        auth=kind,
        auth_user=user,
        secret=secret,
        secret_source=source if kind else "",
        tls_ca=_absolute(value("tls_ca", "tls_ca")),
        tls_cert=_absolute(value("tls_cert", "tls_cert")),
        tls_key=_absolute(value("tls_key", "tls_key")),
        tls_insecure=bool(value("insecure", "tls_insecure")),
    )


def _auth(text: str | None, row: Cluster | None) -> tuple[str, str]:
    if text is None:
        return (row.auth, row.auth_user) if row is not None else ("", "")
    kind, _, user = text.partition(":")
    if kind == "basic" and ":" in user:
        raise CommandError("Do not give the password on the command line: --auth basic:USER asks for it.")
    return ("", "") if kind == "none" else (kind, user)


def _source(options: dict[str, Any], name: str) -> str:
    variable, file = options[f"{name}_env"], options[f"{name}_file"]
    if variable and file:
        flag = name.replace("_", "-")
        raise CommandError(f"Give --{flag}-env or --{flag}-file, not both.")
    if variable:
        return f"env:{variable}"
    return f"file:{Path(file).absolute()}" if file else ""


def _ask_secret(prompt: str) -> str:
    """Typed without an echo; one line of the input where nobody types."""
    if sys.stdin.isatty():
        return getpass.getpass(prompt)
    return sys.stdin.readline().rstrip("\n")


def _absolute(path: str) -> str:
    return str(Path(path).absolute()) if path else ""


def _document(row: Cluster) -> dict[str, Any]:
    since = row.state_since.isoformat() if row.state_since else None
    return {
        "name": row.name,
        "kind": row.kind,
        "controllers": row.controller_urls,
        "zookeeper": row.zookeeper,
        "pinotCluster": row.pinot_name,
        "version": row.version,
        "state": row.state,
        "since": since,
        "error": row.last_error,
        "mirrorError": row.mirror_error,
    }


def _line(row: Cluster) -> str:
    if not row.has_connection:
        return f"{row.name}  {row.kind}"
    since = f" since {row.state_since:%Y-%m-%d %H:%M:%S} UTC" if row.state_since else ""
    why = f": {row.last_error}" if row.last_error else ""
    return (
        f"{row.name}  pinot {row.version or '?'}  {', '.join(row.controller_urls)}  "
        f"{row.get_state_display()}{since}{why}"
    )
