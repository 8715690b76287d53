import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { SelectField } from '../../elements/controls.tsx'
import { InputField } from '../../elements/field.tsx'
import { offeredOf, previewCounts, type Choice } from './image-request.ts'
import type { ImageOptions } from './models.ts'

type Props = {
  choice: Choice
  options: ImageOptions
  isEdit: boolean
  choose: (change: Partial<Choice>) => void
}

/** Fields for all options that every chosen model supports. */
export function Options({ choice, options, isEdit, choose }: Props) {
  const offered = offeredOf(options, isEdit)
  const pick = (name: keyof Choice, label: string, values: readonly string[]) =>
    values.length > 0 && (
      <Pick
        label={label}
        values={values}
        value={String(choice[name])}
        onPick={(value) => choose({ [name]: value })}
      />
    )
  const isPacked = choice.format === 'jpeg' || choice.format === 'webp'
  return (
    <div class="columns options">
      {pick('size', 'Size', offered.size)}
      {pick('aspectRatio', 'Aspect ratio', offered.aspectRatio)}
      {pick('quality', 'Quality', offered.quality)}
      {pick('background', 'Background', offered.background)}
      {pick('format', 'Format', offered.format)}
      {isPacked && (
        <InputField
          label="Compression"
          type="number"
          value={choice.compression}
          min={0}
          max={100}
          placeholder="Default"
          onInput={(event) => choose({ compression: event.currentTarget.value })}
        />
      )}
      {options.seed && (
        <InputField
          label="Seed"
          type="number"
          value={choice.seed}
          min={0}
          max={2_147_483_647}
          placeholder="Default"
          onInput={(event) => choose({ seed: event.currentTarget.value })}
        />
      )}
      {pick('moderation', 'Moderation', offered.moderation)}
      {pick('fidelity', 'Input fidelity', offered.fidelity)}
      {pick('previews', 'Previews', options.previews ? previewCounts : [])}
      <InputField
        label="Number of pictures"
        type="number"
        min={1}
        max={10}
        value={choice.n}
        onInput={({ currentTarget: { value } }) =>
          choose({ n: Math.min(10, Math.max(1, Math.trunc(Number(value)) || 1)) })
        }
      />
    </div>
  )
}

/** Further options, which are shown from the start on screens with room for them. */
export function MoreOptions({ children }: { children: ComponentChildren }) {
  const [isOpen] = useState(() => matchMedia('(min-width: 72rem)').matches)
  return (
    <details open={isOpen}>
      <summary>Options</summary>
      {children}
    </details>
  )
}

type PickProps = {
  label: string
  values: readonly string[]
  value: string
  onPick: (value: string) => void
}

/** A selection of values, with the model's default as the first option. */
export function Pick({ label, values, value, onPick }: PickProps) {
  return (
    <SelectField
      label={label}
      choices={[['', 'Default'], ...values]}
      chosen={values.includes(value) ? value : ''}
      onChoose={onPick}
    />
  )
}
