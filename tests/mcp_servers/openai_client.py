"""The client of OpenAI at a provider: asks each model once, and prints what it got, as JSON."""

import json
import sys

import openai


def asked(base_url: str, key: str, model: str) -> object:
    client = openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=60.0)
    try:
        question = [{"role": "user", "content": "Choose one of: even, odd."}]
        found = client.chat.completions.create(model=model, messages=question, temperature=0.5)
    except openai.APIStatusError as error:
        return [type(error).__name__, error.status_code, error.response.headers.get("retry-after")]
    except openai.APIResponseValidationError as error:
        return [type(error).__name__]
    except json.JSONDecodeError as error:
        return [type(error).__name__]
    return [found.choices[0].message.content, found.choices[0].finish_reason, found.usage and found.usage.total_tokens]


if __name__ == "__main__":
    url, right_key, *models = sys.argv[1:]
    answers = {model: asked(url, right_key, model) for model in models}
    print(json.dumps({**answers, "wrong key": asked(url, "sk-wrong", "right")}))
