#!/bin/sh
# Entry of the function: the Web Adapter starts this once an instance, and passes requests on.
# Callers were checked by IAM before; the Host they were sent to is the Function URL's.
set -eu
root="${LAMBDA_TASK_ROOT:-/var/task}"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
exec python3 -m gpuvet serve --http --host 127.0.0.1 --port "${AWS_LWA_PORT:-8080}" \
  --allow-host "*.lambda-url.${AWS_REGION:?}.on.aws"
