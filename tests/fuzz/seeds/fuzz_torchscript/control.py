class M(Module):
    __parameters__ = [
        "w",
    ]
    stride: Final[Tuple[int, int]] = (1, 2)
    __annotations__["0"] = __torch__.M

    def forward(self: __torch__.M, x: Tensor, n: int = -3) -> Tensor:
        _0 = annotate(List[Tensor], [])
        y = x
        for i in range(n):
            y = torch.add(torch.mul(y, 2), i, alpha=1.5)
            _1 = torch.append(_0, y)
        if bool(torch.gt(torch.sum(y), 0)):
            z, k = (
                torch.relu_(y),
                (self).part(
                    n,
                ),
            )
        else:
            ops.prim.RaiseException(torch.format("{} of \n", n), "builtins.ValueError")
            z, k = y, 1
        while torch.lt(k, 9):
            k = torch.add(k, torch.floordiv(n, 2))
        (
            a,
            b,
        ) = {
            "k": (z, k),
        }["k"]
        self.stride = (1, -2)
        for j in range(torch.size(x, 1)):
            a = torch.add(a, torch.select(x, 1, j).unsqueeze)
        return torch.cat([a, torch.slice(x, 1, 0, 9223372036854775807)], 1)

    def part(self: __torch__.M, n: int) -> int:
        return torch.remainder(torch.len([1, 2, 3]), n)
