/** A valid request for these models. Each member of the schema is accepted by one of the models. */
export type Subject = {
  id: string
  base: Record<string, unknown>
  models: string[]
  /** The conversation has an input picture. */
  edits?: true
}

/** A valid `image_config` of each kind. */
export const imageConfigs: Subject[] = [
  {
    id: 'ImageConfigGoogle',
    base: { image_size: '1K' },
    models: ['gemini-3-pro-image-preview', 'gemini-nano-banana-2.1'],
  },
  {
    id: 'ImageConfigAlibaba',
    base: { image_size: '512x512' },
    models: ['alibaba/qwen-image-2.0'],
  },
  { id: 'ImageConfigZai', base: { image_size: '512x512' }, models: ['zai/cogview-4'] },
  {
    id: 'ImageConfigBytedance',
    base: { image_size: '1024x1024' },
    models: ['bytedance/seedream-4-0'],
  },
  {
    id: 'ImageConfigOpenai',
    base: { image_size: '1024x1024' },
    models: ['gpt-image-2.6-sunburst', 'openrouter/any/painter'],
  },
  {
    id: 'ImageConfigRecraft',
    base: { image_size: '1K' },
    models: ['recraft/recraftv3', 'recraft/recraftv4_1_pro', 'recraft/recraftv4_1_vector'],
  },
  {
    id: 'ImageConfigIdeogram',
    base: { seed: 1 },
    models: [
      'ideogram/ideogram-4-5',
      'ideogram/ideogram-4-6',
      'ideogram/ideogram-4-5-precise-edit',
    ],
    edits: true,
  },
  {
    id: 'ImageConfigBfl',
    base: { image_size: '1024x1024' },
    models: ['bfl/flux-2-pro', 'bfl/flux-pro-1.1-ultra', 'bfl/flux-pro-1.0-fill'],
  },
  {
    id: 'ImageConfigFal',
    base: { image_size: '1024x1024' },
    models: [
      'fal/fal-ai/flux/schnell',
      'fal/fal-ai/nano-banana-2',
      'fal/fal-ai/recraft/v4/text-to-vector',
    ],
  },
  { id: 'ImageConfigXai', base: { image_size: '1K' }, models: ['xai/grok-imagine-image-2.0'] },
]
