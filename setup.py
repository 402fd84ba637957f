"""What of this folder an installed pinotadmin has: pyproject.toml cannot say that ``templates`` goes into a package."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["pinotadmin", "pinotadmin.*", "segments", "segments.*", "pinotadmin_client*"]),
        "pinotadmin.templates",
    ],
    package_dir={"pinotadmin.templates": "templates"},
    package_data={
        "pinotadmin.templates": ["**/*.html"],
        "pinotadmin_client": ["py.typed"],
        "segments": ["static/**/*"],
        "segments.api.documentation": ["*.toml", "examples/*.json"],
    },
    include_package_data=False,
)
