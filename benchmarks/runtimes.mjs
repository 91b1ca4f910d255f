// Ask transformers.js for the answers of exported folders: see runtimes.py.
import { env, pipeline } from "@huggingface/transformers";
import fs from "fs";

const [folder, file] = process.argv.slice(2);
const { texts, question, context, gap } = JSON.parse(fs.readFileSync(file));
env.allowRemoteModels = false;
env.localModelPath = folder;
const make = (task, name) => pipeline(task, name, { dtype: "fp32", device: "cpu" });

const classify = await make("text-classification", "classification");
const embed = await make("feature-extraction", "sentence_embedding");
const find = await make("token-classification", "token_classification");
const answer = await make("question-answering", "question_answering");
const fill = await make("fill-mask", "masked_lm");
const tokens = [];
for (const text of texts) tokens.push(await find(text, { ignore_labels: [] }));
console.log(JSON.stringify({
  classification: await classify(texts, { top_k: null }),
  sentence_embedding: (await embed(texts, { pooling: "mean", normalize: true })).tolist(),
  token_classification: tokens,
  question_answering: await answer(question, context),
  masked_lm: await fill(gap),
}));
