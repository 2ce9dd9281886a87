"""Convolutional networks and transformers over images."""

from __future__ import annotations

from .pretrained import CLASSES, class_labels, images, pretrained

LABELS = {"num_labels": CLASSES}
EFFICIENT = {"initializer_range": 0.2, "depth_coefficient": 1.0, **LABELS}
BATCHES = class_labels(tiny=2, small=2, full=2)
BATCHES_OF_4 = class_labels(tiny=2, small=2, full=4)

MODELS = [
    pretrained(
        "resnet",
        "convolutions, batch norm, ReLU, residual sums",
        ("ResNetForImageClassification", "ResNetConfig"),
        {
            "tiny": dict(embedding_size=8, hidden_sizes=(16, 32), depths=(1, 2), **LABELS),
            "small": dict(embedding_size=32, hidden_sizes=(64, 128, 256, 512), depths=(1, 1, 2, 1), **LABELS),
            "full": LABELS,
        },
        images(tiny=(2, 32), small=(2, 128), full=(4, 224)),
        BATCHES_OF_4,
    ),
    pretrained(
        "mobilenetv2",
        "depthwise convolutions, ReLU6, uneven padding",
        ("MobileNetV2ForImageClassification", "MobileNetV2Config"),
        {
            "tiny": dict(depth_multiplier=0.25, min_depth=4, depth_divisible_by=4, finegrained_output=False, **LABELS),
            "small": dict(depth_multiplier=0.5, **LABELS),
            "full": LABELS,
        },
        images(tiny=(2, 64), small=(2, 128), full=(4, 224)),
        BATCHES_OF_4,
    ),
    pretrained(
        "efficientnet",
        "depthwise convolutions, SiLU, squeeze and excitation",
        ("EfficientNetForImageClassification", "EfficientNetConfig"),
        {
            "tiny": dict(
                width_coefficient=0.25, hidden_dim=320, kernel_sizes=(3, 3, 5), strides=(1, 2, 2),
                in_channels=(32, 16, 24), out_channels=(16, 24, 40), num_block_repeats=(1, 2, 1),
                expand_ratios=(1, 4, 4), image_size=32, **EFFICIENT,
            ),
            "small": dict(
                width_coefficient=0.5, hidden_dim=640, image_size=128,
                num_block_repeats=(1, 1, 2, 2, 1, 1, 1), **EFFICIENT,
            ),
            "full": dict(width_coefficient=1.0, hidden_dim=1280, image_size=224, **EFFICIENT),
        },
        images(tiny=(2, 32), small=(2, 128), full=(4, 224)),
        BATCHES_OF_4,
    ),
    pretrained(
        "convnext",
        "depthwise 7x7 convolutions, layer norm over channels, GELU",
        ("ConvNextForImageClassification", "ConvNextConfig"),
        {
            "tiny": dict(hidden_sizes=(8, 16, 24, 32), depths=(1, 1, 1, 1), layer_scale_init_value=0.1, **LABELS),
            "small": dict(hidden_sizes=(48, 96, 192, 384), depths=(1, 1, 3, 1), **LABELS),
            "full": LABELS,
        },
        images(tiny=(2, 64), small=(2, 128), full=(2, 224)),
        BATCHES,
    ),
    pretrained(
        "vit",
        "a transformer over patches of an image",
        ("ViTForImageClassification", "ViTConfig"),
        {
            "tiny": dict(
                hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32,
                patch_size=8, **LABELS,
            ),
            "small": dict(
                hidden_size=192, num_hidden_layers=4, num_attention_heads=3, intermediate_size=768, image_size=128,
                **LABELS,
            ),
            "full": dict(num_hidden_layers=6, **LABELS),
        },
        images(tiny=(2, 32), small=(2, 128), full=(2, 224)),
        BATCHES,
    ),
    pretrained(
        "swin",
        "attention in shifted windows: rolls, partitions, masks",
        ("SwinForImageClassification", "SwinConfig"),
        {
            "tiny": dict(embed_dim=16, depths=(2, 2), num_heads=(2, 4), image_size=32, window_size=4, **LABELS),
            "small": dict(embed_dim=48, depths=(2, 2, 2), num_heads=(3, 6, 12), image_size=112, **LABELS),
            "full": LABELS,
        },
        images(tiny=(2, 32), small=(2, 112), full=(2, 224)),
        BATCHES,
    ),
]  # fmt: skip
