/**
 * Properties of OpenAI's CreateImageRequest and CreateImageEditRequest, each with a value other than its default.
 * Source: github.com/openai/openai-node 7.55.0, src/resources/images.ts, and github.com/openai/openai-openapi of
 * 2026-08-21, read on 2026-11-22.
 */
export const generationFields = {
  background: 'transparent',
  complexity: 'low',
  frame_count: 4,
  frame_duration_ms: 100,
  moderation: 'low',
  n: 2,
  output_compression: 50,
  output_format: 'webp',
  partial_images: 2,
  quality: 'low',
  response_format: 'url',
  safety_identifier: 'u-1',
  size: '1024x1024',
  stream: true,
  style: 'natural',
  svg: { model: 'svg-1' },
  user: 'u-1',
} as const

export const editFields = {
  background: 'transparent',
  complexity: 'low',
  frame_count: 4,
  frame_duration_ms: 100,
  input_fidelity: 'low',
  markup: 'data:image/png;base64,AAAA',
  mask: { image_url: 'data:image/png;base64,AAAA' },
  moderation: 'low',
  n: 2,
  output_compression: 50,
  output_format: 'webp',
  partial_images: 2,
  quality: 'low',
  response_format: 'url',
  safety_identifier: 'u-1',
  size: '1024x1024',
  stream: true,
  user: 'u-1',
} as const
