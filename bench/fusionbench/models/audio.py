"""Encoders of sound."""

from __future__ import annotations

from .pretrained import CLASSES, class_labels, numbers, pretrained

MODELS = [
    pretrained(
        "whisper_encoder",
        "1-d convolutions over a spectrogram, then a transformer",
        ("WhisperModel", "WhisperConfig", "encoder"),
        {
            "tiny": dict(
                d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64, decoder_layers=1,
                decoder_attention_heads=4, num_mel_bins=16, max_source_positions=30, vocab_size=100,
                pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
            ),
            "small": dict(
                d_model=128, encoder_layers=3, encoder_attention_heads=4, encoder_ffn_dim=512, decoder_layers=1,
                decoder_attention_heads=4,
                max_source_positions=300, vocab_size=100, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                decoder_start_token_id=1,
            ),
            "full": dict(
                d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=1
            ),
        },
        numbers("input_features", tiny=(2, 16, 60), small=(1, 80, 600), full=(1, 80, 3000)),
    ),
    pretrained(
        "wav2vec2",
        "strided 1-d convolutions over a wave, group norm, then a transformer",
        ("Wav2Vec2ForSequenceClassification", "Wav2Vec2Config"),
        {
            "tiny": dict(
                hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16, 32),
                conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16,
                num_conv_pos_embedding_groups=4, classifier_proj_size=16, vocab_size=32, num_labels=CLASSES,
            ),
            "small": dict(
                hidden_size=192, num_hidden_layers=3, num_attention_heads=4, intermediate_size=768,
                conv_dim=(128,) * 7, num_labels=CLASSES,
            ),
            "full": dict(num_hidden_layers=4, num_labels=CLASSES),
        },
        numbers("input_values", tiny=(2, 800), small=(1, 8000), full=(1, 16000)),
        class_labels(tiny=2, small=1, full=1),
    ),
]  # fmt: skip
