"""Signing in: passwords, and OpenID Connect where a provider is named."""

from __future__ import annotations

from pinotadmin.configuration.given import given
from pinotadmin.configuration.setting_texts import between, number_from, words
from pinotadmin.settings.installation import PATH_PREFIX


def _names(text: str) -> frozenset[str]:
    return frozenset(between(";")(text))


#: Checks passwords for REST and forms alike, and slows guessing down.
AUTHENTICATION_BACKENDS = ["segments.services.access.sign_in.SignInBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = LOGOUT_REDIRECT_URL = f"{PATH_PREFIX}/login/"
LOGIN_REDIRECT_URL = f"{PATH_PREFIX}/"

# -- OpenID Connect
OIDC_ISSUER = given.text(
    "PINOTADMIN_OIDC_ISSUER", "", "address of the identity provider, as its own document has it; empty: none"
)
OIDC_CLIENT_ID = given.text("PINOTADMIN_OIDC_CLIENT_ID", "", "our client id there")
OIDC_CLIENT_SECRET = given.text("PINOTADMIN_OIDC_CLIENT_SECRET", "", "our secret there", secret=True)
OIDC_SCOPE = given.text("PINOTADMIN_OIDC_SCOPE", "openid profile email", "scopes to request")
OIDC_NAME = given.text("PINOTADMIN_OIDC_NAME", "single sign-on", "what the button of the log-in page calls it")
OIDC_HOSTS = given.value("PINOTADMIN_OIDC_HOSTS", "", "hosts of the provider's parts, besides the issuer's", words)
OIDC_REDIRECT_URL = given.text(
    "PINOTADMIN_OIDC_REDIRECT_URL", "", "where the provider sends browsers back to, when not where they came from"
)
OIDC_GROUPS_CLAIM = given.text("PINOTADMIN_OIDC_GROUPS_CLAIM", "groups", "the claim that lists groups")
OIDC_GROUPS = given.text("PINOTADMIN_OIDC_GROUPS", "", "which of them is which group here: theirs=ours; other=other")
OIDC_REQUIRED_GROUPS = given.value(
    "PINOTADMIN_OIDC_REQUIRED_GROUPS", "", "of which one has to be a member to sign in; with ; between", _names
)
OIDC_ADMIN_GROUPS = given.value(
    "PINOTADMIN_OIDC_ADMIN_GROUPS", "", "whose members administer the installation; with ; between", _names
)
OIDC_SESSION_S = given.value(
    "PINOTADMIN_OIDC_SESSION_S", str(8 * 3600), "seconds after which somebody signs in again", number_from(1)
)
if OIDC_ISSUER and not (OIDC_CLIENT_ID and OIDC_CLIENT_SECRET):
    given.refuse(
        "PINOTADMIN_OIDC_ISSUER",
        "PINOTADMIN_OIDC_ISSUER needs PINOTADMIN_OIDC_CLIENT_ID and PINOTADMIN_OIDC_CLIENT_SECRET, too.",
    )
