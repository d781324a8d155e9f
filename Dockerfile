# oncelog for containers: answers the environment variables of Apache Kafka's image (KAFKA_*, CLUSTER_ID), data under /var/lib/oncelog.
# The health check asks 127.0.0.1:9092; other ports, TLS and SASL by ONCELOG_BOOTSTRAP, ONCELOG_SECURITY_PROTOCOL, ONCELOG_USERNAME ...
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
COPY --from=build /opt/oncelog /opt/oncelog
# defaults, weaker than any setting: listeners of the user's are never replaced
ENV PATH=/opt/oncelog/bin:$PATH PYTHONUNBUFFERED=1 ONCELOG_HOST=0.0.0.0 ONCELOG_DATA_DIR=/var/lib/oncelog
VOLUME /var/lib/oncelog
EXPOSE 9092
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s CMD ["oncelog", "ready"]
ENTRYPOINT ["oncelog"]
CMD ["serve"]
