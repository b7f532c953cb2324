"""What injecting arms tell an agent: the case's knowledge, or a placebo for it."""

from __future__ import annotations

import pytest

from evalkit import arms, choices
from evalkit.errors import InputError
from evalkit.records import Arm, Home, Step, Wording

STEP = Step(1, "task", "Please mend it.", (), None, {})
RULE = (
    "Handlers here never look at storage errors: the service turns them into its own "
    "unavailable error, and only that one becomes a 503."
)
INJECTED = Arm("injected", Home.NONE, Wording.INJECTION)
PLACEBO = Arm("placebo", Home.NONE, Wording.INJECTION, shadow="injected")


def told(arm, injection=RULE):
    return arms.deliver(arm, STEP, None, lean=(), injection=injection)


def test_an_injecting_arm_gets_the_task_a_heading_and_the_rule():
    assert told(INJECTED).prompt == f"{STEP.prompt}\n\nWhat the team knows:\n\n{RULE}"
    assert told(INJECTED).n_injected_bytes > len(RULE)


def test_a_placebo_has_the_same_heading_about_the_same_length_and_no_word_of_the_rule():
    rule, inert = (
        told(arm).prompt.partition("knows:\n\n") for arm in (INJECTED, PLACEBO)
    )
    assert rule[:2] == inert[:2]
    assert abs(len(inert[2]) - len(rule[2])) <= 0.1 * len(rule[2])
    common = {"the", "it", "and", "at", "only", "that", "one", "a"}
    words = [set(text[2].lower().strip(".").split()) - common for text in (rule, inert)]
    assert not words[0] & words[1]


@pytest.mark.parametrize("length", [50, 120, 201, 350, 900])
def test_a_placebo_is_within_a_tenth_of_any_length(length):
    assert abs(len(arms.placebo(length)) - length) <= 0.1 * length
    assert arms.placebo(length).endswith(".")


@pytest.mark.parametrize("arm", [INJECTED, PLACEBO])
def test_a_case_without_knowledge_cannot_be_injected(arm):
    with pytest.raises(InputError, match=r"without one.*--arms"):
        told(arm, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('shadow = "injected"', 'shadow = "baseline"'),
        ('shadow = "injected"', 'shadow = "placebo"'),
        ('shadow = "injected"', 'shadow = "nobody"'),
        ('prompt = "injection"\nshadow', 'prompt = "bare"\nshadow'),
    ],
)
def test_a_placebo_for_what_injects_nothing_is_refused(root, old, new):
    own = '\n[injected]\nhome = "none"\nprompt = "injection"\n'
    own += '\n[placebo]\nhome = "none"\nprompt = "injection"\nshadow = "injected"\n'
    path = root / "cases/arms.toml"
    common = path.read_text()
    path.write_text(common + own)
    assert choices.load_arms(root).arms["placebo"].shadow == "injected"
    path.write_text(common + own.replace(old, new))
    with pytest.raises(InputError, match=r"\[placebo\] shadow"):
        choices.load_arms(root)
