# The same Debian that debootstrap makes, where a container registry has one to start from.
ARG base
FROM ${base}
ARG packages
# The JRE's set-up writes links to manual pages, whose directory a slim Debian lacks.
RUN mkdir -p /usr/share/man/man1 && apt-get update -q \
    && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends ${packages} \
    && rm -rf /var/lib/apt/lists/*
