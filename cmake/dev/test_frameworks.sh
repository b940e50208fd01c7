# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Stages of ./dev test long that need a framework beside Ingot: torch, LiteRT, onnxruntime, Keras.

# Networks of torchvision and timm as torch exports them; torch is gigabytes, so only here.
stage_torch() {
  dev_build_gcc
  need_python "exports of torch" torch torchvision timm || { echo "[skip] no network was exported: torch, torchvision and timm are not to be had"; return 0; }
  "$python" tests/frameworks/torch/run_networks.py --ingot build/gcc/bin/ingot --work build/torch --format pt2
  "$python" tests/frameworks/torch/run_networks.py --ingot build/gcc/bin/ingot --work build/torch --format decomposed
  "$python" tests/frameworks/torch/run_networks.py --ingot build/gcc/bin/ingot --work build/torch --format torchscript
  "$python" tests/frameworks/torch/run_networks.py --ingot build/gcc/bin/ingot --work build/torch --format mobile
  "$python" tests/frameworks/torch/run_networks.py --ingot build/gcc/bin/ingot --work build/torch --format flat
  "$python" tests/frameworks/torch/quantized_operators.py --ingot build/gcc/bin/ingot --seeds 8
  if need_python "layers of torchao" torch torchao; then
    "$python" tests/frameworks/torch/torchao_operators.py --ingot build/gcc/bin/ingot --seeds 8
  else
    echo "[skip] no layer of torchao was compared: torchao is not to be had"
  fi
  need_python "the matrix of checkpoints" numpy onnx==1.23.2 torch safetensors || { echo "[skip] the matrix of checkpoints: onnx or safetensors are not to be had"; return 0; }
  "$python" tests/checkpoint/against_torch.py --ingot build/gcc/bin/ingot
  "$python" tests/checkpoint/distributed_against_torch.py --ingot build/gcc/bin/ingot
  "$python" tests/checkpoint/matrix/make_matrix.py --out build/matrix
  "$python" tests/checkpoint/matrix/run_matrix.py --ingot build/gcc/bin/ingot --files build/matrix --compare docs/checkpoints.md
  need_python "checkpoints over exports" torch torchvision timm onnx==1.23.2 onnxscript safetensors || { echo "[skip] no checkpoint was laid over an export: onnx, onnxscript and safetensors are not to be had"; return 0; }
  "$python" tests/weights/overlay/finetuned.py --ingot build/gcc/bin/ingot --work build/torch/overlay
}

# Some 1,800 modules in .pt2 and TorchScript against eager torch; what is not equal is in
# tests/frameworks/torch/trial/expected.tsv. Results are kept in build/trial: a stage that was ended
# goes on where it was. INGOT_TRIAL names parts of it: operators, torchvision, timm, transformers.
stage_trial() {
  dev_build_gcc
  need_python "the trial of many programs" torch torchvision timm transformers || {
    echo "[skip] no program was tried: torch, torchvision, timm and transformers are not to be had"
    return 0
  }
  "$python" tests/frameworks/torch/trial/trial.py --ingot build/gcc/bin/ingot --work build/trial --jobs "$jobs" ${INGOT_TRIAL:+--part $INGOT_TRIAL}
}
# 250 modules and 120 networks in .pt2, TorchScript and what both ONNX exporters write: at least 97 %
# of each equal to eager torch. Writes build/tables/torch-list.md.
stage_torch-list() {
  dev_build_gcc
  need_python "the list of programs of PyTorch" torch torchvision timm transformers onnx==1.23.2 onnxscript onnxruntime || {
    echo "[skip] no program was tried: torch, torchvision, timm, transformers, onnx, onnxscript and onnxruntime are not to be had"
    return 0
  }
  "$python" tests/frameworks/torch/trial/listed.py --ingot build/gcc/bin/ingot --work build/torch_list --jobs "$jobs" --write build/tables/torch-list.md
}

# Random models of every architecture of language models against transformers, in f32.
stage_decoders() {
  dev_build_gcc
  need_python "random decoders" numpy torch transformers || {
    echo "[skip] no decoder was compared: torch and transformers are not to be had"
    return 0
  }
  "$python" tests/import/decoder/random_models_test.py --ingot build/gcc/bin/ingot
}

# Piper's voices with random weights, against onnxruntime. The wheel of piper-tts has the network and
# its export, which run from there: its license is another one.
stage_vits() {  # [--only VOICE ..]
  dev_build_gcc
  need_python "Piper's voices" numpy torch onnx==1.23.2 onnxruntime piper-tts==1.8.0 || {
    echo "[skip] no voice was made: torch, onnx, onnxruntime and piper-tts are not to be had"
    return 0
  }
  "$python" tests/frameworks/torch/vits.py --ingot build/gcc/bin/ingot --work build/vits "$@"
}

# Every builtin operator of TFLite that is converted, on shapes drawn at random, and whole quantized
# models, against LiteRT.
stage_tflite() {
  dev_build_gcc
  need_python "operators of TFLite" numpy pillow ai-edge-litert || {
    echo "[skip] no operator of TFLite was tried: ai-edge-litert is not to be had"
    return 0
  }
  local failed=0
  "$python" tests/frameworks/litert/run_operators.py --ingot build/gcc/bin/ingot --seeds 12 --options || failed=1
  local mode modes="litert builtin"
  if need_python "TFLite Micro" tflite-micro==0.dev20261023182759; then
    modes="$modes tflm"
  else
    echo "[skip] nothing was compared with TFLite Micro: tflite-micro is not to be had"
  fi
  "$python" tests/frameworks/litert/type_coverage.py --ingot build/gcc/bin/ingot || failed=1
  "$python" tests/frameworks/litert/block_weights.py --ingot build/gcc/bin/ingot || failed=1
  "$python" tests/frameworks/litert/spoiled_files.py --ingot build/gcc/bin/ingot || failed=1
  "$python" tests/frameworks/litert/hybrid_operators.py --ingot build/gcc/bin/ingot --seeds 24 || failed=1
  local models=$INGOT_SHARED/models compare="$python tests/frameworks/litert/integer_models.py --insides --runs 6"
  local detector="$models/tensorflow__tflite-support/ssd_mobilenet_v1.tflite"
  [ -f "$detector" ] || detector=
  "$python" tests/frameworks/litert/detection.py --ingot build/gcc/bin/ingot $detector || failed=1
  "$python" tests/frameworks/litert/landmarks.py --ingot build/gcc/bin/ingot || failed=1
  local tiny="$models/mlcommons__tiny" micro="$models/tensorflow__tflite-micro"
  local coral="$models/google-coral__test_data" wake="$models/esphome__micro-wake-word-models"
  for mode in $modes; do
    local options="--ingot build/gcc/bin/ingot --exact-to $mode"
    "$python" tests/frameworks/litert/integer_operators.py $options --seeds 12 || failed=1
    "$python" tests/frameworks/litert/integer_operators.py $options --words --seeds 12 || failed=1
    "$python" tests/frameworks/litert/integer_recurrent.py $options --seeds 24 || failed=1
    [ -d "$models" ] || continue
    $compare $options "$tiny"/{ad01_int8,kws_ref_model,pretrainedResnet_quant}.tflite \
      "$tiny"/{vww_96_int8,str_ww_ref_model}.tflite \
      "$micro"/{hello_world_int8,micro_speech_quantized,trained_lstm_int8}.tflite \
      "$micro"/{micro_speech_lstm,dtln_noise_suppression,keyword_scrambled}.tflite \
      "$coral"/keras_lstm_mnist_ptq.tflite || failed=1
    if [ "$mode" = tflm ]; then
      # LiteRT writes 16 bits into SVDF's memory of 8, over what lies behind it
      $compare $options "$micro"/keyword_scrambled_8bit.tflite || failed=1
      continue # Micro has no uint8, and not all the operators of the others
    fi
    ${compare/--insides/} $options \
      "$models"/tensorflow__tflite-support/yamnet_wavin_quantized_mel_relu6.tflite:spread || failed=1
    $compare $options "$wake"/{okay_nabu,v2_okay_nabu,v2_vad}.tflite $detector \
      "$coral"/{mobilenet_v1_0.25_128_quant,deeplabv3_mnv2_dm05_pascal_quant}.tflite \
      "$coral"/movenet_single_pose_lightning_ptq.tflite \
      "$models"/tensorflow__tflite-support/automl_labeler_model.tflite || failed=1
  done
  case "$modes" in *tflm)
    "$python" tests/frameworks/litert/signal_streams.py --ingot build/gcc/bin/ingot --seeds 24 || failed=1 ;;
  esac
  if [ -d "$models" ]; then
    case "$modes" in *tflm)
      "$python" tests/frameworks/litert/audio_front_end.py --ingot build/gcc/bin/ingot \
        --model "$micro"/audio_preprocessor_int8.tflite || failed=1 ;;
    esac
  else
    echo "[skip] no quantized model of shared material was compared with LiteRT: there is none"
  fi
  "$python" tests/models/tflite_files.py --ingot build/gcc/bin/ingot --work build/models || failed=1
  return "$failed"
}

# Operators and networks that onnxruntime's tools quantized, against onnxruntime.
stage_integers() {
  dev_build_gcc
  need_python "quantized ONNX graphs" numpy onnx==1.23.2 onnxruntime torch torchvision || {
    echo "[skip] no quantized ONNX graph was compared: onnxruntime or torchvision is not to be had"
    return 0
  }
  local failed=0 tract=$INGOT_SHARED/models/sonos__tract
  "$python" tests/frameworks/onnxruntime/integer_operators.py --ingot build/gcc/bin/ingot --seeds 12 --figures ||
    failed=1
  "$python" tests/frameworks/onnxruntime/dynamic_operators.py --ingot build/gcc/bin/ingot --seeds 24 --figures ||
    failed=1
  "$python" tests/frameworks/onnxruntime/narrow_types.py --ingot build/gcc/bin/ingot --seeds 24 || failed=1
  [ -d "$tract" ] || echo "[skip] no quantized model of shared material was compared: there is none"
  # shellcheck disable=SC2046
  "$python" tests/frameworks/onnxruntime/integer_models.py --ingot build/gcc/bin/ingot \
    $(ls "$tract"/qlstm_*/model.onnx build/models/pypi/*/*_int8.onnx 2>/dev/null) --networks ||
    failed=1
  return "$failed"
}

# Networks of keras.applications as keras saves them, with its own outputs.
stage_keras() {
  dev_build_gcc
  need_python "networks of keras" numpy torch keras h5py || { echo "[skip] no network of keras was converted: keras, torch and h5py are not to be had"; return 0; }
  mkdir -p build/keras
  local name
  for name in MobileNetV2 EfficientNetB0 ResNet50 DenseNet121 Xception InceptionV3 MobileNetV3Small ConvNeXtTiny; do
    [ -f "build/keras/$name.npz" ] || "$python" tests/frameworks/keras/make_networks.py build/keras "$name" || echo "[skip] $name: this keras does not make it"
  done
  "$python" tests/frameworks/keras/layer_list.py --ingot build/gcc/bin/ingot --work build/keras_layers --applications --write build/tables/keras-layers.md
  "$python" tests/frameworks/keras/masked_networks.py --ingot build/gcc/bin/ingot --work build/keras_masks
  INGOT_KERAS_NETWORKS=build/keras "$python" tests/import/keras/keras_test.py build/gcc/bin/ingot .
}
