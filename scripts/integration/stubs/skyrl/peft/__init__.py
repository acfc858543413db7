import json
from pathlib import Path


class LoraConfig:
    def __init__(self, *, base_model_name_or_path=None, r=8, lora_alpha=8):
        self.fields = {
            "peft_type": "LORA",
            "base_model_name_or_path": base_model_name_or_path,
            "r": r,
            "lora_alpha": lora_alpha,
            "lora_dropout": 0.0,
            "bias": "none",
            "target_modules": None,
            "task_type": None,
            "inference_mode": True,
        }

    def save_pretrained(self, folder):
        (Path(folder) / "adapter_config.json").write_text(json.dumps(self.fields, indent=2))
