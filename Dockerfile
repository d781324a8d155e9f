# oncelog for containers: answers the environment variables of Apache Kafka's image (KAFKA_*, CLUSTER_ID), data under /var/lib/oncelog.
# It starts as Apache Kafka's and Confluent's images do, so that test kits made for them run it: `container/` holds the files they look for.
# The health check asks the listener that the variables name; TLS and SASL by ONCELOG_CA, ONCELOG_USERNAME ..., another by ONCELOG_BOOTSTRAP.
FROM python:3.12-slim AS build
WORKDIR /src
COPY .ci/requirements/base.txt requirements.txt
RUN python -m venv /opt/oncelog && /opt/oncelog/bin/pip install --no-cache-dir --require-hashes -r requirements.txt
COPY pyproject.toml README.md ./
COPY broker broker
COPY protocol protocol
COPY coordinator coordinator
COPY storage storage
COPY spark_jobs spark_jobs
RUN /opt/oncelog/bin/pip install --no-cache-dir --no-deps .

FROM python:3.12-slim
# nc: what many health checks of users ask with
RUN apt-get update && apt-get install -y --no-install-recommends netcat-openbsd && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 1000 --create-home oncelog && install -d -o oncelog -g oncelog /var/lib/oncelog /var/lib/kafka/data
COPY --from=build /opt/oncelog /opt/oncelog
# test kits alter what is under /etc, and leave files in the working directory
COPY --chown=oncelog:oncelog container/etc/kafka /etc/kafka
COPY --chown=oncelog:oncelog container/etc/confluent /etc/confluent
COPY --chown=oncelog:oncelog container/opt/kafka /opt/kafka
COPY container/usr/local/bin /usr/local/bin
# defaults, weaker than any setting: listeners of the user's are never replaced
ENV PATH=/opt/oncelog/bin:$PATH:/opt/kafka/bin PYTHONUNBUFFERED=1 ONCELOG_HOST=0.0.0.0 ONCELOG_DATA_DIR=/var/lib/oncelog
USER oncelog
WORKDIR /opt/kafka
VOLUME /var/lib/oncelog
EXPOSE 9092
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD ["oncelog", "ready"]
ENTRYPOINT ["oncelog-entry"]
