"""The two names of torch that SkyRL's JAX backend mentions, in annotations alone."""


class dtype:
    pass


class Tensor:
    pass
