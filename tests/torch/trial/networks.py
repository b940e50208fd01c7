"""Networks of torchvision, timm and transformers by their own names, small and with random weights.

The name of a program is `library: name`. Of timm one small network of each family, of torchvision one of each
architecture, of transformers the class with a configuration of two narrow layers.
"""
import pathlib
import sys

# Side of the image where it is not 64; "video" is 1x3x8x64x64, "pair" two images.
TORCHVISION = {
    "alexnet": 96, "convnext_tiny": 64, "densenet121": 64, "efficientnet_b0": 64, "efficientnet_v2_s": 64,
    "googlenet": 64, "inception_v3": 96, "maxvit_t": 224, "mnasnet0_5": 64, "mobilenet_v2": 64,
    "mobilenet_v3_small": 64, "mobilenet_v3_large": 64, "regnet_x_400mf": 64, "regnet_y_400mf": 64, "resnet18": 64,
    "resnet50": 64, "resnext50_32x4d": 64, "shufflenet_v2_x0_5": 64, "shufflenet_v2_x1_0": 64, "squeezenet1_0": 64,
    "squeezenet1_1": 64, "swin_t": 64, "swin_v2_t": 64, "vgg11_bn": 64, "vit_b_32": 224, "wide_resnet50_2": 64,
    "deeplabv3_mobilenet_v3_large": 64, "deeplabv3_resnet50": 64, "fcn_resnet50": 64, "lraspp_mobilenet_v3_large": 64,
    "mc3_18": "video", "r2plus1d_18": "video", "r3d_18": "video", "s3d": "video", "swin3d_t": "video",
    "mvit_v2_s": "video224", "raft_small": "pair",
}
TIMM = {
    "beit_base_patch16_224": (224, {"depth": 2}), "beitv2_base_patch16_224": (224, {"depth": 2}),
    "botnet26t_256": (256, {}), "halonet_h1": (128, {}), "lambda_resnet26rpt_256": (256, {}),
    "gernet_s": (64, {}), "repvgg_a0": (64, {}), "mobileone_s0": (64, {}), "cait_xxs24_224": (224, {"depth": 4}),
    "coat_lite_tiny": (224, {}), "coat_tiny": (224, {}), "convit_tiny": (224, {}), "convmixer_768_32": (64, {}),
    "convnext_atto": (64, {}), "convnextv2_atto": (64, {}), "crossvit_9_240": (240, {}), "cspresnet50": (64, {}),
    "darknet17": (64, {}), "cs3darknet_s": (64, {}), "davit_tiny": (64, {}), "deit_tiny_patch16_224": (224, {}),
    "deit_tiny_distilled_patch16_224": (224, {}), "deit3_small_patch16_224": (224, {"depth": 3}),
    "densenet121": (64, {}), "densenetblur121d": (64, {}), "dla34": (64, {}), "dla46x_c": (64, {}), "dpn48b": (64, {}),
    "edgenext_xx_small": (64, {}), "efficientformer_l1": (224, {}), "efficientformerv2_s0": (224, {}),
    "mnasnet_050": (64, {}), "semnasnet_050": (64, {}), "fbnetc_100": (64, {}), "spnasnet_100": (64, {}),
    "mobilenetv1_100": (64, {}), "mobilenetv2_050": (64, {}), "mobilenet_edgetpu_v2_xs": (64, {}),
    "efficientnet_lite0": (64, {}), "tf_efficientnet_b0": (64, {}), "tf_efficientnetv2_b0": (64, {}),
    "mixnet_s": (64, {}), "tinynet_e": (64, {}), "mobilenetv4_conv_small": (64, {}),
    "mobilenetv4_hybrid_medium": (128, {}), "efficientvim_m1": (128, {}), "efficientvit_b0": (64, {}),
    "efficientvit_m0": (224, {}), "eva02_tiny_patch14_224": (224, {"depth": 3}), "fasternet_t0": (64, {}),
    "fastvit_t8": (64, {}), "focalnet_tiny_srf": (64, {"depths": (1, 1, 1, 1)}), "gcvit_xxtiny": (224, {}),
    "ghostnet_050": (64, {}), "ghostnetv2_100": (64, {}), "ghostnetv3_050": (64, {}), "hardcorenas_a": (64, {}),
    "hgnetv2_b0": (64, {}), "hiera_tiny_224": (224, {}), "sam2_hiera_tiny": (128, {}), "hrnet_w18_small": (64, {}),
    "iformer_t": (64, {}), "inception_next_atto": (64, {}), "inception_v3": (96, {}), "lcnet_035": (64, {}),
    "levit_128s": (224, {}), "levit_conv_128s": (224, {}), "lowformer_b0": (64, {}), "mambaout_femto": (64, {}),
    "coatnet_pico_rw_224": (224, {}), "maxvit_rmlp_pico_rw_256": (256, {}), "poolformer_s12": (64, {}),
    "poolformerv2_s12": (64, {}), "caformer_s18": (64, {"depths": (1, 1, 2, 1)}), "mixer_s32_224": (224, {}),
    "gmlp_ti16_224": (224, {"num_blocks": 4}), "resmlp_12_224": (224, {"num_blocks": 4}),
    "mobilenetv3_small_050": (64, {}), "mobilevit_xxs": (64, {}), "mobilevitv2_050": (64, {}),
    "mvitv2_tiny": (224, {}), "naflexvit_base_patch16_gap": (64, {"depth": 2}), "nest_tiny": (224, {}),
    "nextvit_small": (64, {}), "dm_nfnet_f0": (64, {}), "nf_regnet_b0": (64, {}), "pit_ti_224": (224, {}),
    "pvt_v2_b0": (64, {}), "rdnet_tiny": (64, {}), "regnetx_002": (64, {}), "regnety_002": (64, {}),
    "regnetz_005": (64, {}), "repghostnet_050": (64, {}), "repvit_m0_9": (64, {}), "res2net50_14w_8s": (64, {}),
    "resnest14d": (64, {}), "resnet10t": (64, {}), "seresnet18": (64, {}), "ecaresnet26t": (64, {}),
    "skresnet18": (64, {}), "resnetv2_18": (64, {}), "rexnet_100": (64, {}), "selecsls42": (64, {}),
    "legacy_seresnet18": (64, {}), "sequencer2d_s": (64, {"layers": (1, 1, 1, 1)}), "shvit_s1": (64, {}),
    "starnet_s1": (64, {}), "swiftformer_xs": (224, {}), "swin_tiny_patch4_window7_224": (224, {"depths": (1, 1, 2, 1)}),
    "swinv2_cr_tiny_224": (224, {"depths": (1, 1, 2, 1)}),
    "swinv2_tiny_window8_256": (256, {"depths": (1, 1, 2, 1)}), "tiny_vit_5m_224": (224, {}),
    "tnt_s_patch16_224": (224, {"depth": 2}), "tresnet_m": (64, {}), "twins_pcpvt_small": (64, {}),
    "twins_svt_small": (64, {}), "vgg11": (64, {}), "visformer_tiny": (224, {}), "vit_tiny_patch16_224": (224, {}),
    "vit_tiny_r_s16_p8_224": (224, {"depth": 2}), "vit_relpos_small_patch16_224": (224, {"depth": 2}),
    "vit_srelpos_small_patch16_224": (224, {"depth": 2}), "samvit_base_patch16_224": (224, {"depth": 3}),
    "vit_pe_spatial_tiny_patch16_512": (64, {"depth": 2}), "vit_base_patch32_clip_224": (224, {"depth": 2}),
    "vit_small_patch14_dinov2": (56, {"depth": 2}), "vit_small_patch16_dinov3": (64, {"depth": 2}),
    "vit_base_patch16_siglip_224": (224, {"depth": 2}), "vit_intern300m_patch14_448": (56, {"depth": 1}),
    "vitamin_small_224": (64, {}), "volo_d1_224": (224, {}), "ese_vovnet19b_slim_dw": (64, {}),
    "legacy_xception": (96, {}), "xception41": (64, {}), "xcit_nano_12_p16_224": (64, {}),
    "test_efficientnet": (64, {}), "test_vit": (160, {}), "test_nfnet": (64, {}), "test_byobnet": (64, {}),
}

TEXT = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
        "max_position_embeddings": 64}
CAUSAL = {**TEXT, "use_cache": False, "pad_token_id": 0}
GROUPED = {**CAUSAL, "num_key_value_heads": 2, "head_dim": 8}
IMAGE = {"image_size": 32, "patch_size": 8, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 64}
SPEECH = {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 64, "conv_dim": (16, 16, 16), "conv_kernel": (10, 3, 2), "conv_stride": (5, 2, 2),
          "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "num_feat_extract_layers": 3}
SEQUENCES = {"vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
             "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "use_cache": False,
             "max_position_embeddings": 64}
T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "use_cache": False}
STAGES = {"image_size": 64, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}
# name -> (class of the model, of its configuration, arguments of that, what it takes)
TRANSFORMERS = {
    "BertModel": ("BertConfig", TEXT, "masked"), "BertForMaskedLM": ("BertConfig", TEXT, "ids"),
    "BertForQuestionAnswering": ("BertConfig", TEXT, "ids"),
    "RobertaModel": ("RobertaConfig", TEXT, "masked"), "CamembertModel": ("CamembertConfig", TEXT, "ids"),
    "XLMRobertaModel": ("XLMRobertaConfig", TEXT, "ids"),
    "RobertaPreLayerNormModel": ("RobertaPreLayerNormConfig", TEXT, "ids"),
    "DistilBertModel": ("DistilBertConfig", {"vocab_size": 99, "dim": 32, "n_layers": 2, "n_heads": 4,
                                             "hidden_dim": 64}, "masked"),
    "AlbertModel": ("AlbertConfig", {**TEXT, "embedding_size": 16}, "masked"),
    "ElectraModel": ("ElectraConfig", {**TEXT, "embedding_size": 16}, "masked"),
    "DebertaModel": ("DebertaConfig", TEXT, "ids"),
    "DebertaV2Model": ("DebertaV2Config", {**TEXT, "relative_attention": True, "position_buckets": 8,
                                           "pos_att_type": ["p2c", "c2p"], "share_att_key": True}, "masked"),
    "MPNetModel": ("MPNetConfig", TEXT, "masked"),
    "ModernBertModel": ("ModernBertConfig", {**TEXT, "local_attention": 8, "pad_token_id": 0}, "masked"),
    "ErnieModel": ("ErnieConfig", TEXT, "ids"), "NomicBertModel": ("NomicBertConfig", TEXT, "ids"),
    "EsmModel": ("EsmConfig", {**TEXT, "pad_token_id": 1}, "ids"),
    "MobileBertModel": ("MobileBertConfig", {**TEXT, "embedding_size": 32, "true_hidden_size": 32,
                                             "intra_bottleneck_size": 32}, "ids"),
    "SqueezeBertModel": ("SqueezeBertConfig", {**TEXT, "embedding_size": 32}, "masked"),
    "ConvBertModel": ("ConvBertConfig", {**TEXT, "embedding_size": 32}, "ids"),
    "RoFormerModel": ("RoFormerConfig", {**TEXT, "embedding_size": 32}, "ids"),
    "NystromformerModel": ("NystromformerConfig", TEXT, "ids"), "FNetModel": ("FNetConfig", TEXT, "ids"),
    "LongformerModel": ("LongformerConfig", {**TEXT, "attention_window": 4}, "ids"),
    "FunnelBaseModel": ("FunnelConfig", {"vocab_size": 99, "block_sizes": [1, 1], "d_model": 32, "n_head": 4,
                                         "d_head": 8, "d_inner": 64}, "ids"),
    "XLNetModel": ("XLNetConfig", {"vocab_size": 99, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}, "ids"),
    "LayoutLMModel": ("LayoutLMConfig", TEXT, "ids"), "MegatronBertModel": ("MegatronBertConfig", TEXT, "ids"),
    "RemBertModel": ("RemBertConfig", TEXT, "ids"), "CanineModel": ("CanineConfig", TEXT, "ids"),
    "GPT2Model": ("GPT2Config", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
                                 "use_cache": False}, "masked"),
    "GPT2LMHeadModel": ("GPT2Config", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
                                       "use_cache": False}, "ids"),
    "GPTNeoModel": ("GPTNeoConfig", {"vocab_size": 99, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
                                     "attention_types": [[["global", "local"], 1]], "window_size": 4,
                                     "max_position_embeddings": 64, "use_cache": False}, "ids"),
    "GPTNeoXModel": ("GPTNeoXConfig", CAUSAL, "masked"), "OPTModel": (
        "OPTConfig", {**CAUSAL, "ffn_dim": 64, "word_embed_proj_dim": 32}, "masked"),
    "GPTJModel": ("GPTJConfig", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
                                 "rotary_dim": 4, "use_cache": False}, "ids"),
    "GPTBigCodeModel": ("GPTBigCodeConfig", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4,
                                             "n_positions": 64, "use_cache": False}, "ids"),
    "CodeGenModel": ("CodeGenConfig", {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
                                       "rotary_dim": 4, "use_cache": False}, "ids"),
    "BloomModel": ("BloomConfig", {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4,
                                   "use_cache": False}, "masked"),
    "MptModel": ("MptConfig", {"vocab_size": 99, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64,
                               "use_cache": False}, "ids"),
    "FalconModel": ("FalconConfig", {**CAUSAL, "alibi": False}, "ids"),
    "LlamaModel": ("LlamaConfig", GROUPED, "masked"), "LlamaForCausalLM": ("LlamaConfig", GROUPED, "ids"),
    "MistralModel": ("MistralConfig", {**GROUPED, "sliding_window": 4}, "ids"),
    "Qwen2Model": ("Qwen2Config", GROUPED, "ids"), "Qwen3Model": ("Qwen3Config", GROUPED, "ids"),
    "PhiModel": ("PhiConfig", CAUSAL, "ids"), "Phi3Model": ("Phi3Config", GROUPED, "ids"),
    "GemmaModel": ("GemmaConfig", GROUPED, "ids"), "Gemma2Model": ("Gemma2Config", {**GROUPED, "sliding_window": 4}, "ids"),
    "Gemma3TextModel": ("Gemma3TextConfig", {**GROUPED, "sliding_window": 4}, "ids"),
    "StableLmModel": ("StableLmConfig", GROUPED, "ids"), "Starcoder2Model": ("Starcoder2Config", GROUPED, "ids"),
    "OlmoModel": ("OlmoConfig", GROUPED, "ids"), "Olmo2Model": ("Olmo2Config", GROUPED, "ids"),
    "CohereModel": ("CohereConfig", GROUPED, "ids"), "GraniteModel": ("GraniteConfig", GROUPED, "ids"),
    "SmolLM3Model": ("SmolLM3Config", GROUPED, "ids"), "HeliumModel": ("HeliumConfig", GROUPED, "ids"),
    "MixtralModel": ("MixtralConfig", {**GROUPED, "num_local_experts": 2}, "ids"),
    "MambaModel": ("MambaConfig", {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4,
                                   "use_cache": False}, "ids"),
    "T5EncoderModel": ("T5Config", T5, "masked"), "T5Model": ("T5Config", T5, "both"),
    "MT5EncoderModel": ("MT5Config", T5, "ids"), "UMT5EncoderModel": ("UMT5Config", T5, "ids"),
    "BartModel": ("BartConfig", SEQUENCES, "both"), "MBartModel": ("MBartConfig", SEQUENCES, "both"),
    "MarianModel": ("MarianConfig", {**SEQUENCES, "pad_token_id": 0}, "both"),
    "PegasusModel": ("PegasusConfig", SEQUENCES, "both"),
    "BlenderbotModel": ("BlenderbotConfig", SEQUENCES, "both"), "M2M100Model": ("M2M100Config", SEQUENCES, "both"),
    "ViTModel": ("ViTConfig", IMAGE, "image32"), "DeiTModel": ("DeiTConfig", IMAGE, "image32"),
    "BeitModel": ("BeitConfig", IMAGE, "image32"), "Dinov2Model": ("Dinov2Config", IMAGE, "image32"),
    "Dinov2WithRegistersModel": ("Dinov2WithRegistersConfig", IMAGE, "image32"),
    "DINOv3ViTModel": ("DINOv3ViTConfig", IMAGE, "image32"), "IJepaModel": ("IJepaConfig", IMAGE, "image32"),
    "ViTMSNModel": ("ViTMSNConfig", IMAGE, "image32"), "YolosModel": (
        "YolosConfig", {**IMAGE, "image_size": [32, 32], "num_detection_tokens": 4}, "image32"),
    "SwinModel": ("SwinConfig", {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4],
                                 "window_size": 4}, "image32"),
    "Swinv2Model": ("Swinv2Config", {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 2],
                                     "num_heads": [2, 4], "window_size": 4}, "image32"),
    "ConvNextModel": ("ConvNextConfig", STAGES, "image64"), "ConvNextV2Model": ("ConvNextV2Config", STAGES, "image64"),
    "SegformerModel": ("SegformerConfig", {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32],
                                           "num_attention_heads": [1, 2, 2, 4]}, "image64"),
    "SegformerForSemanticSegmentation": ("SegformerConfig", {
        "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32], "num_attention_heads": [1, 2, 2, 4],
        "decoder_hidden_size": 16}, "image64"),
    "MobileViTModel": ("MobileViTConfig", {"image_size": 64, "hidden_sizes": [16, 24, 32],
                                           "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32]}, "image64"),
    "MobileViTV2Model": ("MobileViTV2Config", {"image_size": 64, "width_multiplier": 0.5}, "image64"),
    "MobileNetV1Model": ("MobileNetV1Config", {"image_size": 64, "depth_multiplier": 0.25}, "image64"),
    "MobileNetV2Model": ("MobileNetV2Config", {"image_size": 64, "depth_multiplier": 0.35}, "image64"),
    "ResNetModel": ("ResNetConfig", {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]},
                    "image64"),
    "RegNetModel": ("RegNetConfig", {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1],
                                     "groups_width": 8}, "image64"),
    "PoolFormerModel": ("PoolFormerConfig", {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}, "image64"),
    "PvtV2Model": ("PvtV2Config", {"image_size": 64, "depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32],
                                   "num_attention_heads": [1, 2, 2, 4]}, "image64"),
    "LevitModel": ("LevitConfig", {"image_size": 64, "hidden_sizes": [16, 24, 32], "num_attention_heads": [2, 3, 4],
                                   "depths": [1, 1, 1], "key_dim": [8, 8, 8]}, "image64"),
    "EfficientNetModel": ("EfficientNetConfig", {"image_size": 64, "width_coefficient": 0.25,
                                                 "depth_coefficient": 0.5, "hidden_dim": 320}, "image64"),
    "FocalNetModel": ("FocalNetConfig", {"image_size": 64, "embed_dim": 16, "depths": [1, 1, 1, 1]}, "image64"),
    "HieraModel": ("HieraConfig", {"image_size": [64, 64], "embed_dim": 16, "num_heads": [1, 2, 4, 8],
                                   "depths": [1, 1, 1, 1]}, "image64"),
    "DPTForDepthEstimation": ("DPTConfig", {**IMAGE, "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3],
                                            "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 16}, "image32"),
    "CLIPTextModel": ("CLIPTextConfig", {**TEXT, "eos_token_id": 98}, "ids"),
    "CLIPVisionModel": ("CLIPVisionConfig", IMAGE, "image32"),
    "SiglipTextModel": ("SiglipTextConfig", TEXT, "ids"), "SiglipVisionModel": ("SiglipVisionConfig", IMAGE, "image32"),
    "Wav2Vec2Model": ("Wav2Vec2Config", SPEECH, "sound"), "Wav2Vec2ForCTC": ("Wav2Vec2Config", SPEECH, "sound"),
    "HubertModel": ("HubertConfig", SPEECH, "sound"), "WavLMModel": ("WavLMConfig", SPEECH, "sound"),
    "Data2VecAudioModel": ("Data2VecAudioConfig", {k: v for k, v in SPEECH.items()
                                                   if k != "num_conv_pos_embeddings"}, "sound"),
    "SEWModel": ("SEWConfig", {**SPEECH, "squeeze_factor": 2}, "sound"),
    "UniSpeechModel": ("UniSpeechConfig", SPEECH, "sound"),
    "ASTModel": ("ASTConfig", {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                               "intermediate_size": 64, "max_length": 48, "num_mel_bins": 32, "patch_size": 8,
                               "frequency_stride": 8, "time_stride": 8}, "spectrogram"),
    "WhisperModel": ("WhisperConfig", {**SEQUENCES, "num_mel_bins": 16, "max_source_positions": 20,
                                       "max_target_positions": 32}, "whisper"),
    "PatchTSTModel": ("PatchTSTConfig", {"num_input_channels": 2, "context_length": 32, "patch_length": 8,
                                         "patch_stride": 8, "d_model": 16, "num_hidden_layers": 2,
                                         "num_attention_heads": 2, "ffn_dim": 32}, "series"),
}


def names():
    return ([f"torchvision: {n}" for n in TORCHVISION] + [f"timm: {n}" for n in TIMM]
            + [f"transformers: {n}" for n in TRANSFORMERS])


def settle(net):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    import export_networks
    export_networks.settle(net)


def tensors_of(result):
    """Tensors of a result in their order, whatever classes hold them."""
    import torch
    if isinstance(result, torch.Tensor):
        return [result]
    values = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else ()
    return [t for v in values for t in tensors_of(v)]


def wrapped(inner, keywords, fixed=None):
    """A module with parameters x, y, ... that hands them to a network by keyword (or in order) and gives a tuple."""
    import torch

    class Program(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = inner

        def give(self, *tensors):
            if keywords:
                return tuple(tensors_of(self.net(**dict(zip(keywords, tensors)), **(fixed or {}))))
            return tuple(tensors_of(self.net(*tensors)))

    class One(Program):
        def forward(self, x):
            return self.give(x)

    class Two(Program):
        def forward(self, x, y):
            return self.give(x, y)

    return (Two if keywords and len(keywords) > 1 or keywords == () else One)()


def torchvision_network(name):
    import torch
    import torchvision
    size, options = TORCHVISION[name], {"weights": None}
    if name in ("googlenet", "inception_v3"):
        options.update(init_weights=False, aux_logits=False)
    if name.startswith(("deeplab", "fcn", "lraspp")):
        options["weights_backbone"] = None
    net = torchvision.models.get_model(name, **options)
    if size == "pair":
        return wrapped(net, ()), {"x": torch.rand(1, 3, 128, 128), "y": torch.rand(1, 3, 128, 128)}
    if isinstance(size, str):
        side, frames = (224, 16) if size == "video224" else (64, 16 if name == "s3d" else 8)
        return wrapped(net, None), {"x": torch.rand(1, 3, frames, side, side)}
    return wrapped(net, None), {"x": torch.rand(1, 3, size, size)}


def timm_network(name):
    import timm
    import torch
    size, options = TIMM[name]
    net = timm.create_model(name, pretrained=False, **options)
    fixed = getattr(net, "pretrained_cfg", {}).get("fixed_input_size") or hasattr(net, "patch_embed")
    if fixed and size not in (getattr(net, "pretrained_cfg", {}).get("input_size") or ())[1:]:
        try:
            net = timm.create_model(name, pretrained=False, img_size=size, **options)
        except TypeError:  # takes images of any size
            pass
    return wrapped(net, None), {"x": torch.rand(1, 3, size, size)}


def transformers_network(name):
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    config, options, takes = TRANSFORMERS[name]
    net = getattr(transformers, name)(getattr(transformers, config)(**options))
    ids = torch.randint(3, 90, (2, 12))
    if takes == "ids":
        return wrapped(net, ("input_ids",)), {"x": ids}
    if takes == "masked":
        mask = torch.ones(2, 12, dtype=torch.int64)
        mask[1, 9:] = 0
        return wrapped(net, ("input_ids", "attention_mask")), {"x": ids, "y": mask}
    if takes == "both":
        return wrapped(net, ("input_ids", "decoder_input_ids")), {"x": ids, "y": ids[:, :7].clone()}
    if takes.startswith("image"):
        side = int(takes[5:])
        return wrapped(net, ("pixel_values",)), {"x": torch.rand(1, 3, side, side)}
    if takes == "sound":
        return wrapped(net, ("input_values",)), {"x": torch.randn(1, 2000)}
    if takes == "spectrogram":
        return wrapped(net, ("input_values",)), {"x": torch.randn(1, 48, 32)}
    if takes == "series":
        return wrapped(net, ("past_values",)), {"x": torch.randn(2, 32, 2)}
    return (wrapped(net, ("input_features", "decoder_input_ids")),
            {"x": torch.randn(2, 16, 40), "y": ids[:, :7].clone()})


def build(program):
    library, name = program.split(": ")
    net, inputs = {"torchvision": torchvision_network, "timm": timm_network,
                   "transformers": transformers_network}[library](name)
    settle(net)
    return net.eval(), inputs
