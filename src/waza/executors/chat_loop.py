"""The loop: ask the model, run the tools that it calls, ask again, until it answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from waza.executors._tool_list import ToolList, authorises
from waza.executors.chat_clock import TurnClock, TurnLimitError
from waza.executors.chat_model import ChatModelError, ChatReply, Message, ServedModel, ToolRequest
from waza.executors.chat_tools import ChatTool, ToolAnswer, cut, failed
from waza.kit.text import replace_surrogates
from waza.model.agent import Limits
from waza.model.observation import (
    COMPLETE,
    MESSAGE,
    START,
    Denial,
    Event,
    ModelCall,
    ModelUsage,
    SkillInvocation,
    Turn,
    Usage,
)

SKILL_INVOKED = "skill.invoked"
MOST_CALLS = 100
"""Calls of tools in one answer of a model; with more of them the turn breaks."""
MOST_ARGUMENTS = 8 * 1024 * 1024
"""Characters of the arguments of a call."""
_SHOWN = 200  # characters of arguments that a message repeats

Report = Callable[[Event | ModelCall], None]


class ChatLoop:
    """A conversation with a model that has tools. It remembers: each turn goes on where the last one ended.

    `host` is that of the model server, for reports of usage. `report` gets what happens when it happens.
    """

    def __init__(
        self,
        model: ServedModel,
        tools: Sequence[ChatTool],
        allowed: ToolList,
        *,
        max_requests: int,
        host: str,
        report: Report | None = None,
    ) -> None:
        self.session_id = str(uuid4())
        self.model, self.host, self.max_requests = model, host, max_requests
        self.report = report
        self.messages: list[Message] = []
        self.seen_ids: set[str] = set()
        self.use(tools, allowed)

    def instruct(self, system: str) -> None:
        """Begin the conversation with a system text."""
        self.messages = [{"role": "system", "content": replace_surrogates(system)}]

    def use(self, tools: Sequence[ChatTool], allowed: ToolList) -> None:
        """Offer those of the tools that are allowed, from now on."""
        self.allowed = allowed
        self.tools = {tool.name: tool for tool in tools if _is_allowed(tool, allowed)}

    def fork(self, model: ServedModel, tools: Sequence[ChatTool], allowed: ToolList) -> ChatLoop:
        """Return a conversation that begins with all of this one, which does not notice it."""
        other = ChatLoop(model, tools, allowed, max_requests=self.max_requests, host=self.host)
        other.session_id, other.messages = self.session_id, list(self.messages)
        other.seen_ids = set(self.seen_ids)
        return other

    async def take_turn(self, prompt: str, limits: Limits) -> Turn:
        """Send a prompt, and go on until the model answers without calling a tool. What breaks the turn is in it."""
        turn = _Turn(self, limits)
        self.messages.append({"role": "user", "content": replace_surrogates(prompt)})
        try:
            await turn.run()
        except TurnLimitError as limit:
            return turn.result(str(limit), timed_out=True)
        except ChatModelError as broken:
            return turn.result(
                str(broken),
                outside=broken.outside,
                throttled=broken.throttled,
                retry_after=broken.retry_after,
            )
        return turn.result(turn.error)


class _Turn:
    """One turn while it goes on."""

    def __init__(self, loop: ChatLoop, limits: Limits) -> None:
        self.loop, self.until_skill = loop, limits.until_skill
        self.clock = TurnClock(limits)
        self.text = self.error = ""
        self.events: list[Event] = []
        self.skills: list[SkillInvocation] = []
        self.denials: list[Denial] = []
        self.replies: list[ChatReply] = []

    def result(self, error: str, **how: Any) -> Turn:
        """Return what was seen."""
        return Turn(
            output=self.text,
            events=tuple(self.events),
            skills=tuple(self.skills),
            usage=_usage(self.replies, self.loop.host),
            duration_ms=self.clock.milliseconds,
            error=error,
            session_id=self.loop.session_id,
            denials=tuple(self.denials),
            **how,
        )

    async def run(self) -> None:
        """Ask and run tools until there is an answer, or `error` says why not."""
        loop = self.loop
        definitions = [tool.definition for tool in loop.tools.values()]
        for _ in range(loop.max_requests):
            reply = await loop.model.ask(loop.messages, definitions, self.clock)
            self._take(reply)
            self.error = _fault(reply)
            if self.error or not reply.calls:
                for call in reply.calls:  # which are not run
                    self._start(self._with_new_id(call), _read_arguments(call)[0])
                if reply.text:
                    loop.messages.append({"role": "assistant", "content": reply.text})
                return
            if await self._run_calls(reply):
                return
        self.error = f"the model was asked {loop.max_requests} times and did not come to an answer (executor_options.max_requests)"

    def _take(self, reply: ChatReply) -> None:
        self.replies.append(reply)
        self._add(Event(type=MESSAGE, content=reply.text, at_ms=_now()))
        self.text = reply.text or self.text
        if self.loop.report is not None:
            tokens = reply.tokens
            self.loop.report(
                ModelCall(
                    model=reply.model,
                    duration_ms=reply.duration_ms,
                    input_tokens=tokens.input if tokens else 0,
                    output_tokens=tokens.output if tokens else 0,
                    cache_read_tokens=tokens.cached if tokens else 0,
                )
            )

    def _add(self, event: Event) -> None:
        self.events.append(event)
        if self.loop.report is not None:
            self.loop.report(event)

    async def _run_calls(self, reply: ChatReply) -> bool:
        """Run the tools that a reply calls, one after another; return whether that ends the turn.

        Whatever happens, each call has its start in the events, and an answer in the conversation.
        """
        calls = [(self._with_new_id(call), *_read_arguments(call)) for call in reply.calls]
        self.loop.messages.append(_assistant_message(reply.text, calls))
        waiting = list(calls)
        begun = False
        try:
            while waiting:
                call, arguments, fault = waiting[0]
                self._start(call, arguments)
                begun = True
                answer = await self._run(call, arguments, fault)
                self._complete(call, answer)
                waiting.pop(0)
                begun = False
                if answer.skill is not None and answer.skill.name == self.until_skill:
                    return True
        finally:
            for number, (call, arguments, _) in enumerate(waiting):
                if number or not begun:
                    self._start(call, arguments)
                self._answer(call, "this call was not finished: the turn ended")
        return False

    def _with_new_id(self, call: ToolRequest) -> ToolRequest:
        """Return a call with an id that no other call has."""
        if call.id in self.loop.seen_ids:
            call = msgspec.structs.replace(call, id=f"call_{uuid4().hex}")
        self.loop.seen_ids.add(call.id)
        return call

    async def _run(self, call: ToolRequest, arguments: Any, fault: str) -> ToolAnswer:
        tool = self.loop.tools.get(call.name)
        if tool is None:
            if self.loop.allowed.declared is not None:
                reason = self.loop.allowed.reason.format(tool=repr(call.name))
                self.denials.append(Denial(tool=call.name, kind="tool", reason=reason))
                return failed(f"Denied: {reason}")
            return failed(f"there is no tool {call.name!r}; there are {', '.join(self.loop.tools) or 'none'}")
        if fault:
            return failed(fault)
        try:
            async with self.clock.step():
                return await tool.run(arguments)
        except TurnLimitError:
            raise
        except Exception as error:  # noqa: BLE001 - a tool that breaks costs its call, whatever it raises
            return failed(f"the tool broke: {str(error) or type(error).__name__}")

    def _start(self, call: ToolRequest, arguments: Any) -> None:
        self._add(
            Event(type=START, tool_call_id=call.id, tool_name=call.name, arguments=arguments, at_ms=_now())
        )

    def _complete(self, call: ToolRequest, answer: ToolAnswer) -> None:
        text = cut(answer.text)
        if answer.skill is not None:
            self.skills.append(answer.skill)
            self._add(Event(type=SKILL_INVOKED, content=answer.skill.name, at_ms=_now()))
        self._add(
            Event(
                type=COMPLETE,
                tool_call_id=call.id,
                tool_name=call.name,
                tool_result=text,
                success=answer.success,
                at_ms=_now(),
            )
        )
        self._answer(call, text)

    def _answer(self, call: ToolRequest, text: str) -> None:
        self.loop.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})


def _is_allowed(tool: ChatTool, allowed: ToolList) -> bool:
    return allowed.declared is None or any(authorises(name, tool.identity) for name in allowed.declared)


def _fault(reply: ChatReply) -> str:
    """Return why a reply is no answer; empty: it is one, or calls tools."""
    if reply.refusal:
        return f"the model refused: {reply.refusal}"
    if reply.stop == "length":
        return "the answer of the model was cut off by its limit of tokens (finish_reason: length)"
    if reply.stop == "content_filter":
        return "the model server filtered the answer (finish_reason: content_filter)"
    if len(reply.calls) > MOST_CALLS:
        return f"the model called {len(reply.calls):,} tools at once; at most {MOST_CALLS} are run"
    if not reply.calls and not reply.text:
        return "the model gave an empty answer"
    return ""


def _read_arguments(call: ToolRequest) -> tuple[Any, str]:
    """Return the arguments of a call, and what is wrong with them: what is no object in JSON stays a text."""
    raw = call.arguments
    if not raw.strip():
        return {}, ""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        found = raw
    if isinstance(found, dict):
        return found, ""
    return found, f"the arguments are not a JSON object: {raw[:_SHOWN]}"


def _assistant_message(text: str, calls: Sequence[tuple[ToolRequest, Any, str]]) -> Message:
    """Return the message with which a model called tools. Servers refuse arguments that are no JSON, so these are left out."""
    requests = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": "{}" if fault else call.arguments or "{}"},
        }
        for call, _, fault in calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": requests}


def _usage(replies: Sequence[ChatReply], host: str) -> Usage | None:
    """Return what replies cost; None where the server does not say it of all of them."""
    models: dict[str, ModelUsage] = {}
    for reply in replies:
        if reply.tokens is None:
            return None
        before = models.get(reply.model)
        models[reply.model] = ModelUsage(
            input_tokens=reply.tokens.input + (before.input_tokens if before else 0),
            output_tokens=reply.tokens.output + (before.output_tokens if before else 0),
            cache_read_tokens=reply.tokens.cached + (before.cache_read_tokens if before else 0),
            cache_write_tokens=0,
            request_count=1 + (before.request_count if before else 0),
            request_cost=0,
        )
    return Usage(
        turns=len(replies),
        input_tokens=sum(one.input_tokens for one in models.values()),
        output_tokens=sum(one.output_tokens for one in models.values()),
        cache_read_tokens=sum(one.cache_read_tokens for one in models.values()),
        cache_write_tokens=0,
        premium_requests=len(replies),
        provider="custom",
        provider_host=host,
        model_metrics=models,
    )


def _now() -> float:
    return time.time() * 1000
