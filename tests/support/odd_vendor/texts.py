"""Odd texts, and reasoning."""

from __future__ import annotations

from support.odd_vendor import TEXT, Odd, body, reply
from support.odd_vendor.messages import said

TEXTS = [
    Odd("end of turn of Llama", body(said(TEXT + "<|eot_id|>")), found="leaked_tokens"),
    Odd("a reserved token", body(said(TEXT + "<|reserved_special_token_5|>")), found="leaked_tokens"),
    Odd("a token of Cohere", body(said(TEXT + "<|END_OF_TURN_TOKEN|>")), found="leaked_tokens"),
    Odd("end of Gemma's turn", body(said(TEXT + "<end_of_turn>")), found="leaked_tokens"),
    Odd(
        "end of DeepSeek's sentence",
        body(said(TEXT + "<\uff5cend\u2581of\u2581sentence\uff5c>")),
        found="leaked_tokens",
    ),
    Odd("</s>", body(said(TEXT + "</s>")), found="leaked_tokens"),
    Odd("struck out", body(said("It costs <s>10</s> 8 euros.")), absent="leaked_tokens"),
    Odd("harmony's channel", body(said("<|channel|>analysis<|message|>Let me see.")), found="leaked_tokens"),
    Odd("bytes of SentencePiece", body(said("It is<0x0A>sunny")), found="leaked_tokens"),
    Odd("spaces of BPE", body(said("It\u0120is\u0120sunny\u0120in\u0120Oslo")), found="leaked_tokens"),
    Odd("spaces of SentencePiece", body(said("It\u2581is\u2581sunny\u2581in\u2581Oslo")), found="leaked_tokens"),
    Odd(
        "in a wrong encoding", body(said("Det er sol i Troms\u00c3\u00b8 og B\u00c3\u00a6rum")), found="wrong_encoding"
    ),
    Odd("letters that look like it", body(said("S\u00c3O PAULO \u00c3\u00a0")), absent=()),
    Odd(
        "Danish",
        body(said("Det er s\u00f8dt i Troms\u00f8 \u2013 \u00e6 \u00f8 \u00e5")),
        absent=("wrong_encoding", "leaked_tokens"),
    ),
    Odd(
        "an <invoke>",
        body(said('<function_calls>\n<invoke name="lookup">\n<parameter name="city">Oslo</parameter>')),
        found="leaked_tool_call",
    ),
    Odd(
        "GLM's call",
        body(said("lookup\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>")),
        found="leaked_tool_call",
    ),
    Odd(
        "Python tag",
        body(said('<|python_tag|>{"name": "lookup", "parameters": {"city": "Oslo"}}')),
        found="leaked_tool_call",
    ),
    Odd("ReAct", body(said('Thought: look.\nAction: lookup\nAction Input: {"city": "Oslo"}')), found="call_in_text"),
    Odd(
        "think of another model",
        body(said("\u25c1think\u25b7Let me see.\u25c1/think\u25b7" + TEXT)),
        found="leaked_thinking",
    ),
    Odd("think in the reasoning", body(said(TEXT, reasoning_content="<think>Let me see.")), found="leaked_thinking"),
    Odd("tokens in the reasoning", body(said(TEXT, reasoning_content="Let me see.<|im_end|>")), found="leaked_tokens"),
    Odd("empty with an unknown reason", body(said(""), "eos"), "other", found="empty_answer"),
    Odd("all in the reasoning", body(said("", reasoning_content=TEXT)), found="empty_answer"),
    Odd("an object", body(said({"text": TEXT})), found="content_not_text"),
    Odd("parts of another kind", body(said([{"type": "image_url"}])), found=("content_not_text", "empty_answer")),
    Odd("reasoning an object", body(said(TEXT, reasoning_content={"a": 1}))),
    Odd("a refusal that is empty", body(said(None, refusal="")), found="empty_answer"),
    Odd(
        "reasoning that was switched off",
        body(said(TEXT, reasoning_content="Let me see.")),
        found="reasoning_unwanted",
        request={"reasoning_effort": "none"},
    ),
    Odd(
        "thinking that was switched off",
        body(said(TEXT, reasoning_content="Let me see.")),
        found="reasoning_unwanted",
        request={"chat_template_kwargs": {"enable_thinking": False}},
    ),
    Odd("DeepSeek's own markup", body(said("<\uff5cDSML\uff5cfunction_calls>")), found="leaked_tool_call"),
    Odd(
        "Qwen's own markup", body(said("\u273fFUNCTION\u273f: lookup\n\u273fARGS\u273f: {}")), found="leaked_tool_call"
    ),
    Odd("MiniMax's own markup", body(said(TEXT + "]<]minimax[>[")), found="leaked_tool_call"),
    Odd("a call by Kimi's id", body(said('functions.lookup:0{"city": "Oslo"}')), found="leaked_tool_call"),
    Odd("a sentinel of T5", body(said(TEXT + "<extra_id_0>")), found="leaked_tokens"),
    Odd("talk of functions", body(said("Call functions.lookup: it takes {city}.")), absent="leaked_tool_call"),
    Odd("a space without a width", body(said("\u200b")), found="empty_answer"),
    Odd(
        "Groq's tag",
        body(said('<function=lookup{"city": "Oslo"}</function>')),
        found=("leaked_tool_call", "call_in_text"),
    ),
    Odd(
        "a call in the reasoning",
        body(
            said("", reasoning_content='<tool_call>\n{"name": "lookup", "arguments": {"city": "Oslo"}}\n</tool_call>')
        ),
        found=("call_in_reasoning", "empty_answer"),
    ),
    Odd(
        "a plan in the reasoning", body(said(TEXT, reasoning_content="lookup(city) first")), absent="call_in_reasoning"
    ),
    Odd(
        "a failed generation",
        reply(
            status="400 Bad Request",
            body=b'{"error": {"message": "Failed to call a function.", "code": "tool_use_failed", '
            b'"failed_generation": "<function=lookup{\\"city\\": \\"Oslo\\"}</function>"}}',
        ),
        "transport_error",
        "http_400",
        found="call_in_text",
    ),
    Odd("a refusal in parts", body(said(None, refusal=["I cannot."])), found="content_not_text"),
]
