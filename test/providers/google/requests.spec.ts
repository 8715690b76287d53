import {
  describeWire,
  hello,
  note,
  pdf,
  refusing,
  showing,
  shownInstructions,
  type WireRow,
} from '../../support/chat-wire.ts'
import { pixel } from '../../support/pixel.ts'

const tool = {
  type: 'function' as const,
  function: { name: 'look', parameters: { type: 'object' } },
}
const schema = { type: 'object', properties: {} }
const asked = { type: 'json_schema' as const, json_schema: { name: 'it', schema } }
const image = (url: string) => showing({ type: 'image_url', image_url: { url } })
const shownByTool: WireRow['request']['messages'] = [
  ...hello,
  {
    role: 'assistant',
    tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
  },
  {
    role: 'tool',
    tool_call_id: 'a',
    content: [
      { type: 'text', text: 'There.' },
      { type: 'image_url', image_url: { url: pixel } },
    ],
  },
]

const rows: WireRow[] = [
  {
    name: 'sends Gemini all fields that it supports',
    model: 'gemini-3.5-flash',
    request: {
      temperature: 1.5,
      top_p: 0.5,
      max_tokens: 9,
      stop: ['END'],
      seed: 4,
      presence_penalty: 1,
      messages: [{ role: 'system', content: 'Be kind.' }, ...hello],
    },
    wire: {
      'generationConfig.temperature': 1.5,
      'generationConfig.topP': 0.5,
      'generationConfig.maxOutputTokens': 9,
      'generationConfig.stopSequences.0': 'END',
      'generationConfig.seed': 4,
      'generationConfig.presencePenalty': 1,
      'systemInstruction.parts.0.text': 'Be kind.',
    },
  },
  {
    name: 'warns of each field that Gemini does not have',
    model: 'gemini-2.5-flash',
    request: { user: 'u', logit_bias: { 1: 1 }, parallel_tool_calls: false, frequency_penalty: 1 },
    warned: ['user', 'logit_bias', 'parallel_tool_calls', 'frequency_penalty'],
  },
  {
    name: 'sends Gemini a schema to enforce',
    model: 'gemini-3.5-flash',
    request: { response_format: asked },
    wire: {
      'generationConfig.responseMimeType': 'application/json',
      'generationConfig.responseJsonSchema.type': 'object',
    },
  },
  {
    name: 'sends Gemini calls with a signature, and results as objects',
    model: 'gemini-3.5-flash',
    request: {
      tools: [tool],
      tool_choice: { type: 'function', function: { name: 'look' } },
      messages: [
        ...hello,
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'a', content: 'Nothing.' },
      ],
    },
    wire: {
      'contents.1.role': 'model',
      'contents.1.parts.0.thoughtSignature': 'skip_thought_signature_validator',
      'contents.1.parts.0.functionCall.id': 'a',
      'contents.2.parts.0.functionResponse.id': 'a',
      'contents.2.parts.0.functionResponse.name': 'look',
      'contents.2.parts.0.functionResponse.response.result': 'Nothing.',
      'toolConfig.functionCallingConfig.mode': 'ANY',
    },
  },
  {
    name: 'sends Gemini the reasoning effort',
    model: 'gemini-3.5-flash',
    request: { reasoning_effort: 'max' },
    wire: { 'generationConfig.thinkingConfig.thinkingLevel': 'high' },
    warned: ['reasoning_effort'],
  },
  {
    name: 'sends older models of Gemini a thinking budget',
    model: 'gemini-2.5-pro',
    request: { reasoning_effort: 'none' },
    wire: { 'generationConfig.thinkingConfig.thinkingBudget': 128 },
    warned: ['reasoning_effort'],
  },
  ...['gemini-3.8-flash', 'gemini-3.7-flash', 'gemini-3.1-pro-preview'].flatMap((model) =>
    (['none', 'minimal'] as const).map((effort): WireRow => ({
      name: `asks ${model} for its lowest level: ${effort}`,
      model,
      request: { reasoning_effort: effort },
      wire: { 'generationConfig.thinkingConfig.thinkingLevel': 'low' },
      warned: ['reasoning_effort'],
    })),
  ),
  {
    name: 'omits fields that the newest models of Gemini ignore',
    model: 'gemini-3.8-flash',
    request: { temperature: 0.2, top_p: 0.5, logprobs: true, top_logprobs: 2, stop: ['', 'END'] },
    wire: {
      'generationConfig.temperature': undefined,
      'generationConfig.topP': undefined,
      'generationConfig.responseLogprobs': undefined,
      'generationConfig.stopSequences.length': 1,
    },
    warned: ['temperature', 'top_p', 'logprobs', 'top_logprobs', 'stop[0]'],
  },
  {
    name: 'requests several choices from older models of Gemini',
    model: 'gemini-2.5-flash',
    request: { n: 2 },
    wire: { 'generationConfig.candidateCount': 2 },
  },
  {
    name: 'refuses to continue an answer with the newest models of Gemini',
    model: 'gemini-3.8-flash',
    request: { messages: [...hello, { role: 'assistant', content: 'I am' }] },
    refused: ['messages[1]'],
  },
  {
    name: 'sends Gemini the description of a schema',
    model: 'gemini-3.5-flash',
    request: {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'it', description: 'A town.', schema },
      },
    },
    wire: { 'generationConfig.responseJsonSchema.description': 'A town.' },
  },
  {
    name: 'refuses tool names that Gemini rejects',
    model: 'gemini-3.5-flash',
    request: { tools: [{ type: 'function', function: { name: '1st' } }] },
    refused: ['tools[0].function.name'],
  },
  {
    name: 'does not send Gemini images that it cannot read',
    model: 'gemini-3.5-flash',
    request: { messages: image('data:image/gif;base64,AAAA') },
    refused: ['messages[0].content[0].image_url.url'],
  },
  {
    name: 'refuses nine choices from Gemini',
    model: 'gemini-2.5-flash',
    request: { n: 9 },
    refused: ['n'],
  },
  {
    name: 'refuses two choices from newer models of Gemini',
    model: 'gemini-3.5-flash',
    request: { n: 2 },
    refused: ['n'],
  },
  {
    name: 'sends Gemini a refusal as text',
    model: 'gemini-3.5-flash',
    request: { messages: refusing },
    wire: { 'contents.1.parts.0.text': 'No.', 'contents.3.parts.0.text': 'Never.' },
  },
  {
    name: 'does not send Gemini instructions with images',
    model: 'gemini-3.5-flash',
    request: { messages: shownInstructions },
    refused: ['messages[1].content[0]'],
  },
  {
    name: 'sends Gemini documents, audio and video',
    model: 'gemini-3.5-flash',
    warned: ['messages[0].content[0].file.filename'],
    request: {
      messages: [
        ...showing({ type: 'file', file: { file_data: pdf, filename: 'a.pdf' } }),
        ...showing({ type: 'file', file: { file_data: note } }),
        ...showing({ type: 'file', file: { file_data: 'data:video/mp4;base64,AAAA' } }),
        ...showing({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }),
      ],
    },
    wire: {
      'contents.0.parts.0.inlineData.mimeType': 'application/pdf',
      'contents.0.parts.0.inlineData.data': 'JVBERi0xLjcK',
      'contents.0.parts.1.inlineData.mimeType': 'text/csv',
      'contents.0.parts.2.inlineData.mimeType': 'video/mp4',
      'contents.0.parts.3.inlineData.mimeType': 'audio/wav',
      'contents.0.parts.3.inlineData.data': 'UklGRg==',
    },
  },
  {
    name: 'does not send Gemini unknown file types',
    model: 'gemini-3.5-flash',
    request: {
      messages: [
        ...showing({ type: 'file', file: { file_data: 'data:application/zip;base64,AAAA' } }),
        ...showing({ type: 'file', file: { file_data: 'AAAA' } }),
        ...showing({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'toString' } }),
      ],
    },
    refused: [
      'messages[0].content[0].file.file_data',
      'messages[1].content[0].file.file_data',
      'messages[2].content[0].input_audio.format',
    ],
  },
  {
    name: 'sends Gemini the images of a tool result within the result',
    model: 'gemini-3.5-flash',
    request: { messages: shownByTool },
    wire: {
      'contents.2.parts.length': 1,
      'contents.2.parts.0.functionResponse.response.result': 'There.',
      'contents.2.parts.0.functionResponse.parts.0.inlineData.mimeType': 'image/png',
    },
  },
  {
    name: 'sends older models of Gemini the images of a tool result after the result',
    model: 'gemini-2.5-pro',
    request: { messages: shownByTool },
    wire: {
      'contents.2.parts.0.functionResponse.response.result': 'There.',
      'contents.2.parts.0.functionResponse.parts': undefined,
      'contents.2.parts.1.inlineData.mimeType': 'image/png',
    },
  },
  {
    name: 'sends Gemini instructions alone as a user message',
    model: 'gemini-3.5-flash',
    request: { messages: [{ role: 'system', content: 'Write a haiku.' }] },
    wire: { systemInstruction: undefined, 'contents.0.parts.0.text': 'Write a haiku.' },
    warned: ['messages'],
  },
  {
    name: 'puts a schema next to tools into the system prompt for older models of Gemini',
    model: 'gemini-2.5-pro',
    request: { response_format: asked, tools: [tool] },
    wire: { generationConfig: undefined, 'systemInstruction.parts.length': 1 },
    warned: ['response_format'],
  },
  {
    name: 'sends newer models of Gemini a schema next to tools',
    model: 'gemini-3.5-flash',
    request: { response_format: asked, tools: [tool] },
    wire: { 'generationConfig.responseMimeType': 'application/json' },
  },
]

describe('a chat request to Gemini', () => describeWire(rows))
