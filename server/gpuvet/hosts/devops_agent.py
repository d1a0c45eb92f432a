"""AWS DevOps Agent: the stack that hosts the server on Lambda, and how it is registered there.

The template is SAM's to deploy; its resources are CloudFormation's own, so that a linter sees all
of them. The reading role holds exactly the reads of `aws.reads`.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gpuvet.aws.iam_policy import minimal_policy, reads_of
from gpuvet.hosts.plugin import as_json
from gpuvet.hosts.words import NAME, SUMMARY
from gpuvet.model.untyped import is_array, is_object
from gpuvet.tools.table import TOOLS
from gpuvet.web.settings import HEALTH, PATH

FOLDER = "server/packaging"
TEMPLATE = f"{FOLDER}/lambda/template.yaml"
REGISTER = f"{FOLDER}/devops-agent/register-service.json"
ASSOCIATE = f"{FOLDER}/devops-agent/associate-service.json"
_PORT = "8080"
# Both invented, as are the ids below; replace them by the stack's outputs.
_ENDPOINT = f"https://abcdefghijklmnopqrstuvwxyz012345.lambda-url.us-west-2.on.aws{PATH}"
_CALLER = "arn:aws:iam::111122223333:role/gpuvet-devops-agent-caller"


def deployment_files() -> Mapping[str, str]:
    """Return the text of every generated file, by path in the checkout."""
    return MappingProxyType(
        {
            TEMPLATE: template(),
            REGISTER: as_json(registration()),
            ASSOCIATE: as_json(association()),
        }
    )


def registration() -> dict[str, Any]:
    """Return the input of `aws devops-agent register-service`."""
    return {
        "service": "mcpserversigv4",
        "name": NAME,
        "serviceDetails": {
            "mcpserversigv4": {
                "name": NAME,
                "endpoint": _ENDPOINT,
                "description": SUMMARY,
                "authorizationConfig": {
                    "region": "us-west-2",
                    "service": "lambda",
                    "mcpRoleArn": _CALLER,
                },
            }
        },
    }


def association() -> dict[str, Any]:
    """Return the input of `aws devops-agent associate-service`: every tool, each read-only."""
    names = [row.name for row in TOOLS]
    details = [{"name": name, "toolClassification": "READ_ONLY"} for name in names]
    return {
        "agentSpaceId": "example-agent-space",
        "serviceId": "example-service",
        "configuration": {"mcpserversigv4": {"tools": names, "toolDetails": details}},
    }


def template() -> str:
    """Return the stack."""
    body = {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Transform": "AWS::Serverless-2016-10-31",
        "Description": "gpuvet for AWS DevOps Agent: an MCP server that reads, called with SigV4.",
        "Parameters": _PARAMETERS,
        "Resources": _resources(),
        "Outputs": _OUTPUTS,
    }
    head = (
        "# Written by `gpuvet docs build` from the list of reads; edit "
        "server/gpuvet/hosts/devops_agent.py.\n"
    )
    return head + "\n".join(_yaml(body)) + "\n"


_PARAMETERS: dict[str, Any] = {
    "WebAdapterLayerArn": {
        "Type": "String",
        "Description": "Lambda Web Adapter layer for x86_64, as AWS publishes it for the region",
        "AllowedPattern": "arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:"
        "layer:LambdaAdapterLayerX86:[0-9]+",
    },
    "CursorKey": {
        "Type": "String",
        "NoEcho": True,
        "MinLength": 32,
        "MaxLength": 256,
        "Description": "A random text that lets every instance go on with the pages of another",
    },
    "MostInstances": {
        "Type": "Number",
        "Default": 15,
        "MinValue": 1,
        "MaxValue": 1000,
        "Description": "Most instances at once: three investigations and ten chats fit",
    },
}

_OUTPUTS: dict[str, Any] = {
    "Endpoint": {
        "Description": "To register; exactly this path, for a redirect breaks the signature",
        "Value": {"Fn::Sub": "${Url.FunctionUrl}" + PATH.removeprefix("/")},
    },
    "CallerRoleArn": {
        "Description": "mcpRoleArn of the registration",
        "Value": {"Fn::GetAtt": ["CallerRole", "Arn"]},
    },
}


def _resources() -> dict[str, Any]:
    log_arn = "arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:"
    function = {"Fn::GetAtt": ["Function", "Arn"]}
    return {
        "Function": {"Type": "AWS::Lambda::Function", "Properties": _function()},
        "Url": {
            "Type": "AWS::Lambda::Url",
            "Properties": {
                "TargetFunctionArn": function,
                "AuthType": "AWS_IAM",
                "InvokeMode": "RESPONSE_STREAM",
            },
        },
        "Log": {
            "Type": "AWS::Logs::LogGroup",
            "DeletionPolicy": "Delete",
            "UpdateReplacePolicy": "Delete",
            "Properties": {
                "LogGroupName": {"Fn::Sub": "/aws/lambda/${AWS::StackName}"},
                "RetentionInDays": 30,
            },
        },
        "ReadRole": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": _trusting("lambda.amazonaws.com"),
                "Policies": [
                    {
                        "PolicyName": "reads",
                        "PolicyDocument": json.loads(json.dumps(dict(minimal_policy(reads_of())))),
                    },
                    {
                        "PolicyName": "own-log",
                        "PolicyDocument": _allowing(
                            ["logs:CreateLogStream", "logs:PutLogEvents"],
                            {"Fn::Sub": log_arn + "/aws/lambda/${AWS::StackName}:*"},
                        ),
                    },
                ],
            },
        },
        "CallerRole": _caller_role(function),
    }


def _caller_role(function: object) -> dict[str, Any]:
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": _trusting("aidevops.amazonaws.com", _OWN_SPACES),
            "Policies": [
                {
                    "PolicyName": "call-gpuvet",
                    "PolicyDocument": _calling(function),
                }
            ],
        },
    }


_OWN_SPACES: dict[str, Any] = {
    "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}},
    "ArnLike": {
        "aws:SourceArn": {
            "Fn::Sub": "arn:${AWS::Partition}:aidevops:${AWS::Region}:${AWS::AccountId}:service/*"
        }
    },
}


def _function() -> dict[str, Any]:
    return {
        "FunctionName": {"Ref": "AWS::StackName"},
        "Description": SUMMARY,
        "Code": "../../../build/lambda",
        "Handler": "run.sh",
        "Runtime": "python3.12",
        "Architectures": ["x86_64"],
        "MemorySize": 1024,
        "Timeout": 120,
        "ReservedConcurrentExecutions": {"Ref": "MostInstances"},
        "Role": {"Fn::GetAtt": ["ReadRole", "Arn"]},
        "Layers": [{"Ref": "WebAdapterLayerArn"}],
        "LoggingConfig": {"LogGroup": {"Ref": "Log"}},
        "Environment": {
            "Variables": {
                "AWS_LAMBDA_EXEC_WRAPPER": "/opt/bootstrap",
                "AWS_LWA_INVOKE_MODE": "response_stream",
                "AWS_LWA_PORT": _PORT,
                "AWS_LWA_READINESS_CHECK_PATH": HEALTH,
                "GPUVET_CURSOR_KEY": {"Ref": "CursorKey"},
            }
        },
    }


def _trusting(service: str, condition: Mapping[str, Any] | None = None) -> dict[str, Any]:
    statement: dict[str, Any] = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sts:AssumeRole",
    }
    if condition:
        statement["Condition"] = dict(condition)
    return {"Version": "2012-10-17", "Statement": [statement]}


def _allowing(actions: list[str], resource: object) -> dict[str, Any]:
    statement = {"Effect": "Allow", "Action": actions, "Resource": resource}
    return {"Version": "2012-10-17", "Statement": [statement]}


def _calling(function: object) -> dict[str, Any]:
    """Return the three actions that a signed call of a streaming Function URL takes."""
    by_url = _allowing(
        ["lambda:InvokeFunctionUrl", "lambda:InvokeFunctionWithResponseStream"], function
    )
    plain = _allowing(["lambda:InvokeFunction"], function)
    for statement in plain["Statement"]:
        statement["Condition"] = {"Bool": {"lambda:InvokedViaFunctionUrl": "true"}}
    return {**by_url, "Statement": [*by_url["Statement"], *plain["Statement"]]}


def _yaml(value: object, indent: int = 0) -> list[str]:
    """Return JSON-like values as block YAML; every text is quoted as JSON quotes it."""
    pad = "  " * indent
    lines: list[str] = []
    if is_object(value):
        for key, member in value.items():
            if _is_block(member):
                lines += [f"{pad}{key}:", *_yaml(member, indent + 1)]
            else:
                lines.append(f"{pad}{key}: {json.dumps(member, ensure_ascii=False)}")
    elif is_array(value):
        for member in value:
            if _is_block(member):
                first, *rest = _yaml(member, indent + 1)
                lines += [f"{pad}- {first.strip()}", *rest]
            else:
                lines.append(f"{pad}- {json.dumps(member, ensure_ascii=False)}")
    return lines


def _is_block(value: object) -> bool:
    return (is_object(value) or is_array(value)) and bool(value)
