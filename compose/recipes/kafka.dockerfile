# Kafka as every node runs it: our Debian with a JRE, and in libs/ the jars of the release, from wherever they came.
ARG base
FROM ${base}
COPY libs/ /opt/kafka/libs/
COPY archive.sh archive.properties log4j.properties log4j2.properties /opt/highwater/
ARG archive
ARG flags
RUN sh /opt/highwater/archive.sh ${archive} ${flags}
