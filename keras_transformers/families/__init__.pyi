from keras_transformers.families.baselines.without_attention import convolutional as convolutional
from keras_transformers.families.baselines.without_attention import recurrent as recurrent
from keras_transformers.families.baselines.without_attention import static as static
from keras_transformers.families.decoders.gemma import gemma as gemma
from keras_transformers.families.decoders.gemma import gemma2 as gemma2
from keras_transformers.families.decoders.gemma3 import gemma3 as gemma3
from keras_transformers.families.decoders.gpt import gpt1 as gpt1
from keras_transformers.families.decoders.gpt import gpt2 as gpt2
from keras_transformers.families.decoders.gpt_neox import gpt_neox as gpt_neox
from keras_transformers.families.decoders.granite import granite as granite
from keras_transformers.families.decoders.granitemoehybrid import granitemoehybrid as granitemoehybrid
<<<<<<< HEAD
=======
from keras_transformers.families.decoders.lfm2 import lfm2 as lfm2
>>>>>>> part-delta
from keras_transformers.families.decoders.llama import llama as llama
from keras_transformers.families.decoders.ministral import ministral as ministral
from keras_transformers.families.decoders.mistral import mistral as mistral
from keras_transformers.families.decoders.olmo2 import olmo2 as olmo2
from keras_transformers.families.decoders.opt import opt as opt
from keras_transformers.families.decoders.phi3 import phi3 as phi3
from keras_transformers.families.decoders.qwen import qwen2 as qwen2
from keras_transformers.families.decoders.qwen import qwen3 as qwen3
from keras_transformers.families.decoders.smollm3 import smollm3 as smollm3
from keras_transformers.families.encoder_decoders.bart import bart as bart
from keras_transformers.families.encoder_decoders.bart import mbart as mbart
from keras_transformers.families.encoder_decoders.marian import marian as marian
from keras_transformers.families.encoder_decoders.t5 import t5 as t5
from keras_transformers.families.encoder_decoders.transformer import transformer as transformer
from keras_transformers.families.encoders.albert import albert as albert
from keras_transformers.families.encoders.bert import bert as bert
from keras_transformers.families.encoders.deberta_v2 import deberta_v2 as deberta_v2
from keras_transformers.families.encoders.distilbert import distilbert as distilbert
from keras_transformers.families.encoders.electra import electra as electra
from keras_transformers.families.encoders.eurobert import eurobert as eurobert
from keras_transformers.families.encoders.gte import gte as gte
from keras_transformers.families.encoders.modernbert import modernbert as modernbert
from keras_transformers.families.encoders.modernbert_decoder import modernbert_decoder as modernbert_decoder
from keras_transformers.families.encoders.mpnet import mpnet as mpnet
from keras_transformers.families.encoders.nomic_bert import nomic_bert as nomic_bert
from keras_transformers.families.encoders.roberta import roberta as roberta
from keras_transformers.families.encoders.xlm_roberta import camembert as camembert
from keras_transformers.families.encoders.xlm_roberta import xlm_roberta as xlm_roberta
from keras_transformers.families.table import Names as Names

FAMILIES: dict[str, Names]
