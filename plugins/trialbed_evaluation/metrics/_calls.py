"""The names of ``trialbed.tool_calls`` that are names of the metrics too."""

from trialbed.tool_calls import RULES as RULES
from trialbed.tool_calls import ArgumentFinding as ArgumentFinding
from trialbed.tool_calls import CallFinding as CallFinding
from trialbed.tool_calls import Diagnosis as Diagnosis
from trialbed.tool_calls import MetricResult as MetricResult
from trialbed.tool_calls import Rule as Rule
from trialbed.tool_calls import parse_rule as parse_rule
