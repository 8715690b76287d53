import type { ComponentChildren } from 'preact'

type Column =
  | string
  | {
      title: ComponentChildren
      class?: string | undefined
      'aria-sort'?: 'ascending' | 'descending' | undefined
    }

type Props = {
  /** Label for screen readers. */
  label: string
  columns: readonly Column[]
  class?: string
  caption?: string
  /** Rows of the footer. */
  foot?: ComponentChildren
  /** Whether a click anywhere in a row opens the first link of the row. */
  opens?: boolean
  children: ComponentChildren
}

/** A table; when it is wider than the page, it scrolls within its own box. */
export function Table({
  label,
  columns,
  class: name = '',
  caption,
  foot,
  opens = false,
  children,
}: Props) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table class={opens ? `${name} opens` : name}>
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map((column, index) => {
              const { title, ...attributes } = columnOf(column)
              return (
                <th key={index} scope="col" {...attributes}>
                  {title}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody {...(opens && { onClick: openRow })}>{children}</tbody>
        {foot !== undefined && <tfoot>{foot}</tfoot>}
      </table>
    </div>
  )
}

/** Opens the first link of the clicked row, unless text is selected. The link itself serves the keyboard. */
function openRow({ target, ctrlKey, metaKey, shiftKey }: MouseEvent): void {
  const element = target as Element
  if (element.closest('a, button, input, select, label, summary') !== null) return
  if (getSelection()?.isCollapsed === false) return
  const link = element.closest('tr')?.querySelector('a')
  const click = { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }
  link?.dispatchEvent(new MouseEvent('click', click))
}

function columnOf(column: Column): Exclude<Column, string> {
  return typeof column === 'string' ? { title: column } : column
}

/** A column of right-aligned numbers. */
export function numbers(title: string): Column {
  return { title, class: 'number' }
}

/** The column of buttons in each row. */
export const acts: Column = { title: <span class="hidden">Actions</span> }
