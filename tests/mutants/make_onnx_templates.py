#!/usr/bin/env python3
"""Writes onnx_templates.txt: nodes that are right, which operator_mutants.cpp makes wrong.

make_onnx_templates.py >onnx_templates.txt     needs the onnx package, whose backend cases have a
                                               node of every operator; those of com.microsoft and
                                               ai.onnx.ml stand below

A line: domain, operator, opset, outputs, inputs, attributes; columns are separated by tabs, entries
by spaces. An input is a letter of its type and its shape, f[1,3,4], then =1,2 where its numbers
decide (constants); '-' is a missing one. Attributes are name=i3, name=f0.5, name=sLEFT, name=I1,2,
name=F0.5,1."""

import sys

LETTERS = {1: "f", 2: "u", 3: "c", 6: "i", 7: "l", 9: "b", 10: "h", 11: "d"}
MOST_FORMS, MOST_NUMBERS, MOST_EXTENT = 4, 16, 64

# com.microsoft and ai.onnx.ml: what their kernels take
OWN = """
com.microsoft Attention f[1,4,32] f[32,96] f[96] i[1]=4 f[2,1,4,2,8] f[1,4,4,6] | num_heads=i4 | 2
com.microsoft MultiHeadAttention f[1,4,32] f[1,4,32] f[1,4,32] f[96] i[1]=4 f[1,4,4,6] f[1,4,2,8] f[1,4,2,8] | num_heads=i4 | 3
com.microsoft MultiHeadAttention f[1,4,4,3,8] - - | num_heads=i4 | 1
com.microsoft GroupQueryAttention f[1,4,32] f[1,4,16] f[1,4,16] f[1,2,8,8] f[1,2,8,8] i[1]=3 i[]=4 f[16,4] f[16,4] | num_heads=i4 kv_num_heads=i2 do_rotary=i1 | 3
com.microsoft PackedAttention f[4,32] f[32,96] f[96] i[1,4]=0,1,2,3 i[2]=0,4 | num_heads=i4 | 1
com.microsoft QAttention u[1,4,32] u[32,96] f[96] f[] f[] i[1]=4 u[] u[] | num_heads=i4 | 1
com.microsoft EmbedLayerNormalization i[1,4] i[1,4] f[10,8] f[10,8] f[2,8] f[8] f[8] i[1,4] | epsilon=f0.001 | 2
com.microsoft SkipLayerNormalization f[1,4,8] f[1,4,8] f[8] f[8] f[8] | epsilon=f0.001 | 4
com.microsoft SkipSimplifiedLayerNormalization f[1,4,8] f[1,4,8] f[8] f[8] | epsilon=f0.001 | 4
com.microsoft RotaryEmbedding f[1,4,32] l[1,4] f[16,4] f[16,4] | num_heads=i4 | 1
com.microsoft MatMulNBits f[1,32] u[16,2,8]=1 f[32]=1 u[16]=8 | N=i16 K=i32 bits=i4 block_size=i16 | 1
com.microsoft MatMulNBits f[1,32] u[16,2,8]=1 f[32]=1 - i[32]=0 f[16] | N=i16 K=i32 bits=i4 block_size=i16 | 1
com.microsoft GatherBlockQuantized u[10,8]=1 i[2] f[10,1]=1 u[10,1]=1 | block_size=i16 bits=i4 | 1
com.microsoft QLinearAdd u[4] f[]=1 u[]=1 u[4] f[]=1 u[]=1 f[]=1 u[]=1 | | 1
com.microsoft QLinearMul u[4] f[]=1 u[]=1 u[4] f[]=1 u[]=1 f[]=1 u[]=1 | | 1
com.microsoft QLinearSigmoid u[4] f[]=1 u[]=1 f[]=1 u[]=1 | | 1
com.microsoft QLinearLeakyRelu u[4] f[]=1 u[]=1 f[]=1 u[]=1 | alpha=f0.1 | 1
com.microsoft QLinearConcat f[]=1 u[]=1 u[4] f[]=1 u[]=1 u[4] f[]=1 u[]=1 | axis=i0 | 1
com.microsoft QLinearAveragePool u[1,2,8,8] f[]=1 u[]=1 f[]=1 u[]=1 | kernel_shape=I2,2 channels_last=i0 | 1
com.microsoft QLinearGlobalAveragePool u[1,2,8,8] f[]=1 u[]=1 f[]=1 u[]=1 | channels_last=i0 | 1
com.microsoft QLinearSoftmax u[1,8] f[]=1 u[]=1 f[]=1 u[]=1 | axis=i1 opset=i13 | 1
com.microsoft QLinearWhere b[4] u[4] f[]=1 u[]=1 u[4] f[]=1 u[]=1 f[]=1 u[]=1 | | 1
com.microsoft QGemm u[2,8] f[]=1 u[]=1 u[8,4]=1 f[]=1 u[]=1 i[4]=1 f[]=1 u[]=1 | transB=i0 | 1
com.microsoft QLinearConv u[1,8,8,2] f[]=1 u[]=1 u[3,3,3,2]=1 f[]=1 u[]=1 f[]=1 u[]=1 i[3]=1 | channels_last=i1 | 1
com.microsoft DynamicQuantizeMatMul f[2,8] u[8,4]=1 f[]=1 u[]=1 f[4] | | 1
com.microsoft MatMulIntegerToFloat u[2,8] u[8,4]=1 f[]=1 f[]=1 u[]=1 u[]=1 f[4] | | 1
com.microsoft DynamicQuantizeLSTM f[3,1,4] u[1,4,16]=1 u[1,4,16]=1 f[1,32]=1 i[1]=3 f[1,1,4] f[1,1,4] f[1,12]=1 f[1]=1 u[1]=1 f[1]=1 u[1]=1 | hidden_size=i4 | 3
com.microsoft FusedConv f[1,2,8,8] f[3,2,3,3]=1 f[3]=1 f[1,3,6,6] | activation=sRelu | 1
com.microsoft FusedGemm f[2,8] f[8,4] f[4] | activation=sRelu | 1
com.microsoft FusedMatMul f[2,8] f[8,4] | transA=i0 transB=i0 alpha=f2 | 1
com.microsoft TransposeMatMul f[2,8] f[8,4] | transA=i0 transB=i0 | 1
com.microsoft BiasSoftmax f[1,4,8] f[1,4,8] | axis=i2 is_inner_broadcast=i0 | 1
com.microsoft BiasSplitGelu f[1,4,8] f[8] | | 1
com.microsoft BiasAdd f[1,4,8] f[8] f[1,4,8] | | 1
com.microsoft ConvTransposeWithDynamicPads f[1,2,8,8] f[2,3,3,3]=1 l[4]=0,0,0,0 f[3]=1 | | 1
com.microsoft NhwcConv f[1,8,8,2] f[3,3,3,2]=1 f[3] | | 1
com.microsoft NhwcMaxPool u[1,8,8,2] | kernel_shape=I2,2 | 1
com.microsoft GroupNorm f[1,4,4,8] f[8] f[8] | groups=i2 activation=i0 channels_last=i1 | 1
com.microsoft SkipGroupNorm f[1,4,4,8] f[8] f[8] f[1,4,4,8] f[8] | groups=i2 activation=i0 channels_last=i1 | 2
com.microsoft Rfft f[1,8] | signal_ndim=i1 normalized=i0 onesided=i1 | 1
com.microsoft Irfft f[1,5,2] | signal_ndim=i1 normalized=i0 onesided=i1 | 1
com.microsoft ComplexMul f[1,2] f[1,2] | | 1
com.microsoft Inverse f[1,3,3] | | 1
com.microsoft Trilu f[3,3] l[]=1 | upper=i1 | 1
com.microsoft Gelu f[4] | | 1
com.microsoft QuickGelu f[4] | alpha=f1.7 | 1
com.microsoft FastGelu f[2,4] f[4] | | 1
com.microsoft BiasGelu f[2,4] f[4] | | 1
com.microsoft CDist f[2,4] f[3,4] | metric=seuclidean | 1
com.microsoft ExpandDims f[2,3] i[]=1 | | 1
com.microsoft Unique f[4] | | 3
com.microsoft GridSample f[1,2,5,6] f[1,3,4,2] | mode=slinear | 1
com.microsoft Pad f[2,3] l[4]=0,1,0,1 f[]=0 | mode=sconstant | 1
com.microsoft QuantizeLinear f[2,3] f[]=1 u[]=1 | axis=i0 | 1
com.microsoft DequantizeLinear u[2,3] f[]=1 u[]=1 | axis=i0 | 1
com.microsoft MaxpoolWithMask f[1,2,8,8] i[1,2,8,8] | kernel_shape=I2,2 | 1
com.microsoft GatherND f[2,3,4] l[2,1]=0,1 | | 1
com.microsoft Sampling i[1,4] i[1] i[1] f[1] | eos_token_id=i1 pad_token_id=i0 | 1
com.microsoft MoE f[4,8] f[4,2] f[2,8,16] f[2,16] f[2,16,8] f[2,8] | k=i1 activation_type=srelu | 1
com.microsoft SparseAttention f[1,4,32] f[1,4,32] f[1,4,32] f[1,4,8,8] f[1,4,8,8] i[1,3] i[1,4] i[]=4 i[1]=3 | num_heads=i4 kv_num_heads=i4 sparse_block_size=i16 | 3
com.microsoft LinearAttention f[1,4,32] f[1,4,32] f[1,4,32] f[1,4,8,8] f[1,4,32] f[1,4,4] | q_num_heads=i4 kv_num_heads=i4 update_rule=sgated_delta | 2
com.microsoft CausalConvWithState f[1,4,6] f[4,1,3] f[4] f[1,4,2] | activation=ssilu | 2
ai.onnx SequenceConstruct f[2,3] f[2,3] | | 1
ai.onnx SplitToSequence f[4,3] l[]=1 | axis=i0 | 1
ai.onnx SequenceEmpty | dtype=i1 | 1
ai.onnx Optional f[2,3] | | 1
ai.onnx.ml ArrayFeatureExtractor f[2,4] l[1,2]=0,1 | | 1
ai.onnx.ml Binarizer f[2,4] | threshold=f0.5 | 1
ai.onnx.ml FeatureVectorizer f[2,4] f[2,3] | inputdimensions=I4,3 | 1
ai.onnx.ml Imputer f[2,4] | imputed_value_floats=F1,2,3,4 replaced_value_float=f0 | 1
ai.onnx.ml LinearClassifier f[2,4] | classlabels_ints=I0,1,2 coefficients=F1,2,3,4,5,6,7,8,9,1,2,3 intercepts=F0,0,1 multi_class=i1 post_transform=sSOFTMAX | 2
ai.onnx.ml LinearRegressor f[2,4] | coefficients=F1,2,3,4 intercepts=F1 targets=i1 post_transform=sNONE | 1
ai.onnx.ml Normalizer f[2,4] | norm=sL2 | 1
ai.onnx.ml OneHotEncoder l[2,3] | cats_int64s=I0,1,2 zeros=i1 | 1
ai.onnx.ml SVMClassifier f[2,2] | classlabels_ints=I0,1 coefficients=F1,-1 kernel_type=sRBF kernel_params=F0.5,0,3 rho=F0.1 support_vectors=F1,2,3,4 vectors_per_class=I1,1 post_transform=sNONE | 2
ai.onnx.ml SVMRegressor f[2,2] | coefficients=F1,-1 kernel_type=sLINEAR kernel_params=F0.5,0,3 n_supports=i2 rho=F0.1 support_vectors=F1,2,3,4 post_transform=sNONE | 1
ai.onnx.ml Scaler f[2,4] | offset=F0,1,2,3 scale=F1,1,1,1 | 1
ai.onnx.ml TreeEnsembleRegressor f[2,2] | n_targets=i1 nodes_treeids=I0,0,0 nodes_nodeids=I0,1,2 nodes_featureids=I0,0,0 nodes_values=F0.5,0,0 nodes_truenodeids=I1,0,0 nodes_falsenodeids=I2,0,0 target_treeids=I0,0 target_nodeids=I1,2 target_ids=I0,0 target_weights=F1,2 | 1
ai.onnx.ml TreeEnsembleClassifier f[2,2] | classlabels_int64s=I0,1 nodes_treeids=I0,0,0 nodes_nodeids=I0,1,2 nodes_featureids=I0,0,0 nodes_values=F0.5,0,0 nodes_truenodeids=I1,0,0 nodes_falsenodeids=I2,0,0 class_treeids=I0,0 class_nodeids=I1,2 class_ids=I0,1 class_weights=F1,2 | 2
"""


def attribute(a):
    if a.type == 1:
        return f"{a.name}=f{a.f:.9g}"
    if a.type == 2:
        return f"{a.name}=i{a.i}"
    if a.type == 3 and b" " not in a.s and b"\t" not in a.s:
        return f"{a.name}=s{a.s.decode()}"
    if a.type == 6:
        return f"{a.name}=F" + ",".join(f"{x:.9g}" for x in a.floats[:MOST_EXTENT])
    if a.type == 7:
        return f"{a.name}=I" + ",".join(map(str, a.ints))
    return None  # graphs, tensors, texts


def operand(name, info, data):
    kind = info.type.tensor_type.elem_type
    shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
    if not info.type.HasField("tensor_type") or kind not in LETTERS:
        return None
    if any(n > MOST_EXTENT for n in shape):
        return None
    word = LETTERS[kind] + "[" + ",".join(map(str, shape)) + "]"
    numbers = data.get(name)
    if numbers is not None and 0 < numbers.size <= MOST_NUMBERS and numbers.dtype.kind in "iu":
        word += "=" + ",".join(str(int(x)) for x in numbers.flatten())
    return word


def forms():
    from onnx.backend.test.case import node as cases

    for case in sorted(cases.collect_testcases(None), key=lambda c: c.name):
        graph = case.model.graph
        if len(graph.node) != 1 or graph.node[0].domain not in ("", "ai.onnx.ml"):
            continue
        node = graph.node[0]
        try:
            arrays = dict(zip([i.name for i in graph.input], case.data_sets[0][0]))
            data = {k: v for k, v in arrays.items() if hasattr(v, "dtype")}
        except (IndexError, TypeError):
            continue
        infos = {i.name: i for i in graph.input}
        inputs = [operand(n, infos[n], data) if n in infos else "-" for n in node.input]
        attributes = [attribute(a) for a in node.attribute]
        if None in inputs or None in attributes:
            continue
        domain = node.domain or "ai.onnx"
        opset = [o.version for o in case.model.opset_import if o.domain == node.domain][0]
        yield domain, node.op_type, opset, len(node.output), inputs, attributes


def main():
    kept, seen = {}, set()
    lines = []
    for domain, op, opset, outputs, inputs, attributes in forms():
        kinds = (domain, op, tuple(i[:1] + str(i.count(",")) for i in inputs),
                 tuple(a.split("=")[0] for a in attributes))  # fmt: skip
        if kinds in seen or kept.get((domain, op), 0) >= MOST_FORMS:
            continue
        seen.add(kinds)
        kept[domain, op] = kept.get((domain, op), 0) + 1
        row = (domain, op, opset, outputs, " ".join(inputs), " ".join(attributes))
        lines.append("\t".join(map(str, row)))
    for line in OWN.strip().splitlines():
        head, attributes, outputs = line.split("|")
        domain, op, *inputs = head.split()
        opset = {"ai.onnx.ml": 3, "ai.onnx": 18}.get(domain, 1)
        row = (domain, op, opset, outputs.strip(), " ".join(inputs), " ".join(attributes.split()))
        lines.append("\t".join(map(str, row)))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
