"""One look at a model server before the first trial: whether it answers, by its list of models. Costs nothing."""

from __future__ import annotations

import httpx

from waza.errors import OutsideError
from waza.kit import http
from waza.model.agent import Provider

LIMIT = 15.0  # seconds
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


async def probe(provider: Provider) -> None:
    """Ask a model server for its models. OutsideError: nobody answers, the server is broken, or refuses the key.

    A server need not have such a list: any other answer says that it is there.
    """
    url = f"{provider.base_url.rstrip('/')}/models"
    try:
        address = httpx.URL(url)
        async with httpx.AsyncClient(
            timeout=LIMIT,
            headers={**http.UNCOMPRESSED, **_credentials(provider), **provider.headers},
            event_hooks={"response": [http.limit_body_async]},
            trust_env=address.host not in _LOOPBACK,  # agents ask this machine without a proxy, too
        ) as client:
            response = await client.get(address)
    except httpx.TimeoutException as error:
        raise OutsideError(
            f"the model server at {provider.host} does not answer within {LIMIT:g} s"
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        raise OutsideError(
            f"the model server at {provider.host} cannot be reached ({why}); check its address and whether it runs"
        ) from error
    if http.is_server_error(response.status_code):
        raise OutsideError(
            f"the model server at {provider.host} answers {response.status_code} to {http.safe_url(address)}"
        )
    if provider.type == "openai" and response.status_code in http.DENIED:
        raise OutsideError(
            f"the model server at {provider.host} refuses us ({response.status_code}); check its key or token"
        )


def _credentials(provider: Provider) -> dict[str, str]:
    token = provider.bearer_token or provider.api_key
    return {"Authorization": f"Bearer {token}"} if token else {}
