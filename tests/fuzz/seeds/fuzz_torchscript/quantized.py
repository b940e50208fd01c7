class M(Module):
  def __setstate__(self: __torch__.M,
    state: Tuple[int, Tensor]) -> NoneType:
    self.groups = (state)[0]
    return None
  def forward(self: __torch__.M,
    x: Tensor,
    n: int) -> Tensor:
    q = torch.quantize_per_tensor(x, 0.05, 120, 13)
    w = torch.quantize_per_tensor(torch.full([4, 2], 0.25), 0.01, 0, 12)
    p = ops.quantized.linear_prepack(w, None)
    a = ops.quantized.linear_relu(torch.transpose(q, 0, 1), p, 0.1, 3)
    f = torch.quantize_per_tensor(torch.ones([2, 1, 1, 1]), 0.02, 0, 12)
    k = ops.quantized.conv2d_prepack(f, None, [1, 1], [0, 0], [1, 1], 1)
    c = ops.quantized.conv2d(torch.view(q, [1, 1, 2, -1]), k, 0.2, 7)
    b = ops.quantized.add(q, torch.relu(q), 0.3, 9)
    s = torch.sigmoid(ops.quantized.mul_scalar(b, -2.5))
    d = ops.quantized.cat([s, ops.quantized.add_scalar(s, 0.5)], 1, None, None)
    e = ops.quantized.linear_dynamic(torch.t(x), p, True)
    f = torch.fake_quantize_per_tensor_affine(e, 0.1, 4, 0, 127)
    if torch.gt(torch.q_zero_point(c), n):
      y = torch.dequantize(c)
    else:
      y = torch.dequantize(d)
    return (y, f, torch.int_repr(a), torch.q_scale(d))
