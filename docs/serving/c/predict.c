/* Asks an exported folder: ./predict FOLDER "a text" ["another text" ...]
 *
 * Prints the outputs of the signature serving_default, whose one input is `text` (B,), a line for each row:
 *     name[row] = value value ...
 * Values are written as in JSON. An output of three dimensions has lines name[row][column].
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { MOST = 64, LONGEST = 256 }; /* tensors of a signature, bytes of a name */

typedef struct { const uint8_t *at, *end; } Bytes; /* a part of a serialised protocol buffer */
typedef struct { uint64_t number; Bytes value; } Field;
typedef struct { char name[LONGEST]; TF_Output tensor; } Named;

_Noreturn static void fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  fputs("predict: ", stderr);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  exit(1);
}

static void check(TF_Status *status, const char *what) {
  if (TF_GetCode(status) != TF_OK) fail("%s: %s", what, TF_Message(status));
}

/* ---- Protocol buffers. MetaGraphDef.signature_def (5) has a SignatureDef by name, SignatureDef.inputs (1) and
 * .outputs (2) a TensorInfo by name, TensorInfo.name (1) is "operation:index". A map is a repeated field of entries
 * with a key (1) and a value (2). */

static uint64_t read_varint(Bytes *bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
    uint8_t byte = *bytes->at++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
  fail("the SavedModel is damaged");
}

/* Moves past the next field of a message; 0 at its end. */
static int read_field(Bytes *message, Field *field) {
  if (message->at == message->end) return 0;
  uint64_t tag = read_varint(message), type = tag & 7, length = type == 1 ? 8 : type == 5 ? 4 : 0;
  if (type == 0) read_varint(message);
  if (type == 2) length = read_varint(message);
  if (type == 3 || type == 4 || type > 5 || length > (uint64_t)(message->end - message->at))
    fail("the SavedModel is damaged");
  *field = (Field){tag >> 3, {message->at, message->at + length}};
  message->at += length;
  return 1;
}

static Bytes find_field(Bytes message, uint64_t number) {
  Field field;
  while (read_field(&message, &field))
    if (field.number == number) return field.value;
  return (Bytes){message.end, message.end};
}

static void copy_name(char name[LONGEST], Bytes bytes) {
  size_t size = (size_t)(bytes.end - bytes.at);
  if (size >= LONGEST) fail("a name of the SavedModel has %zu bytes, expected fewer than %d", size, LONGEST);
  memcpy(name, bytes.at, size);
  name[size] = 0;
}

static Bytes find_signature(Bytes meta_graph, const char *wanted) {
  char name[LONGEST];
  for (Field field; read_field(&meta_graph, &field);) {
    if (field.number != 5) continue;
    copy_name(name, find_field(field.value, 1));
    if (!strcmp(name, wanted)) return find_field(field.value, 2);
  }
  fail("the SavedModel has no signature %s", wanted);
}

static TF_Output find_tensor(TF_Graph *graph, Bytes tensor_info) {
  char name[LONGEST];
  copy_name(name, find_field(tensor_info, 1));
  char *colon = strrchr(name, ':');
  if (!colon) fail("the signature names a tensor '%s', expected operation:index", name);
  *colon = 0;
  TF_Output tensor = {TF_GraphOperationByName(graph, name), atoi(colon + 1)};
  if (!tensor.oper) fail("the graph has no operation %s", name);
  return tensor;
}

static int by_name(const void *one, const void *other) {
  return strcmp(((const Named *)one)->name, ((const Named *)other)->name);
}

/* The inputs (field 1) or outputs (field 2) of a signature, sorted by name; returns how many. */
static int find_tensors(TF_Graph *graph, Bytes signature, uint64_t number, Named tensors[MOST]) {
  int count = 0;
  for (Field field; read_field(&signature, &field);) {
    if (field.number != number) continue;
    if (count == MOST) fail("the signature has more than %d tensors", MOST);
    copy_name(tensors[count].name, find_field(field.value, 1));
    tensors[count++].tensor = find_tensor(graph, find_field(field.value, 2));
  }
  qsort(tensors, count, sizeof *tensors, by_name);
  return count;
}

/* ---- Printing */

static void print_string(const TF_TString *string) {
  const char *text = TF_StringGetDataPointer(string);
  putchar('"');
  for (size_t i = 0, size = TF_StringGetSize(string); i < size; i++) {
    unsigned char byte = text[i];
    if (byte < 32) printf("\\u%04x", byte);
    else printf(byte == '"' || byte == '\\' ? "\\%c" : "%c", byte);
  }
  putchar('"');
}

static void print_value(TF_DataType type, const void *data, int64_t index) {
  switch (type) {
    case TF_STRING: print_string((const TF_TString *)data + index); break;
    case TF_FLOAT: printf("%.9g", ((const float *)data)[index]); break;
    case TF_INT32: printf("%d", (int)((const int32_t *)data)[index]); break;
    case TF_INT64: printf("%lld", (long long)((const int64_t *)data)[index]); break;
    case TF_BOOL: fputs(((const uint8_t *)data)[index] ? "true" : "false", stdout); break;
    default: fail("cannot print values of type %d (TF_DataType)", (int)type);
  }
}

/* A line for each row; of more than two dimensions, for each index of all but the last. */
static void print_tensor(const char *name, const TF_Tensor *tensor) {
  int dimensions = TF_NumDims(tensor), indices = dimensions < 2 ? dimensions : dimensions - 1;
  int64_t lines = 1, width = dimensions < 2 ? 1 : TF_Dim(tensor, dimensions - 1);
  for (int i = 0; i < indices; i++) lines *= TF_Dim(tensor, i);
  for (int64_t line = 0; line < lines; line++) {
    fputs(name, stdout);
    for (int64_t i = 0, under = lines; i < indices; i++) {
      int64_t all = under;
      under /= TF_Dim(tensor, (int)i);
      printf("[%lld]", (long long)(line % all / under));
    }
    fputs(" =", stdout);
    for (int64_t i = 0; i < width; i++) {
      putchar(' ');
      print_value(TF_TensorType(tensor), TF_TensorData(tensor), line * width + i);
    }
    putchar('\n');
  }
}

/* ---- One request */

static void answer(TF_Session *session, TF_Graph *graph, Bytes signature, char **texts, int64_t count) {
  Named inputs[MOST] = {0}, outputs[MOST];
  int num_inputs = find_tensors(graph, signature, 1, inputs), num_outputs = find_tensors(graph, signature, 2, outputs);
  if (num_inputs != 1 || strcmp(inputs[0].name, "text"))
    fail("the signature has %d inputs, among them '%s': expected 'text' alone", num_inputs, inputs[0].name);
  TF_Output wanted[MOST];
  for (int i = 0; i < num_outputs; i++) wanted[i] = outputs[i].tensor;

  TF_Tensor *text = TF_AllocateTensor(TF_STRING, &count, 1, count * sizeof(TF_TString)), *values[MOST];
  TF_TString *strings = TF_TensorData(text);
  for (int64_t i = 0; i < count; i++) {
    TF_StringInit(&strings[i]);
    TF_StringCopy(&strings[i], texts[i], strlen(texts[i]));
  }
  TF_Status *status = TF_NewStatus();
  TF_SessionRun(session, NULL, &inputs[0].tensor, &text, 1, wanted, values, num_outputs, NULL, 0, NULL, status);
  check(status, "cannot answer");

  for (int i = 0; i < num_outputs; i++) {
    print_tensor(outputs[i].name, values[i]);
    TF_DeleteTensor(values[i]);
  }
  for (int64_t i = 0; i < count; i++) TF_StringDealloc(&strings[i]); /* the strings of an input are the caller's */
  TF_DeleteTensor(text);
  TF_DeleteStatus(status);
}

int main(int argc, char **argv) {
  if (argc < 3) fail("received %d arguments, expected FOLDER \"a text\" [\"another text\" ...]", argc - 1);
  const char *tags[] = {"serve"};
  TF_Status *status = TF_NewStatus();
  TF_Graph *graph = TF_NewGraph();
  TF_Buffer *meta_graph = TF_NewBuffer();
  TF_SessionOptions *options = TF_NewSessionOptions();
  TF_Session *session = TF_LoadSessionFromSavedModel(options, NULL, argv[1], tags, 1, graph, meta_graph, status);
  check(status, argv[1]);

  const uint8_t *data = meta_graph->data;
  Bytes signature = find_signature((Bytes){data, data + meta_graph->length}, "serving_default");
  answer(session, graph, signature, argv + 2, argc - 2);

  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(meta_graph);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
